DROP VIEW tasks;
