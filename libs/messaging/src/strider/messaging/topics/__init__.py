"""Topics on the broker: compare them with the declarations, apply the difference, tail them."""

from .access import AccessOptions, AccessReport, apply_access
from .acls import access_table, declared_acls
from .apply import TopicApplyReport, apply_topics, compare_topics
from .diff import (
    DeclaredTopic,
    ExistingTopic,
    RefusedTopicChange,
    TopicAlteration,
    TopicPlan,
    declared_topics,
    diff_topics,
    select_topics,
)

__all__ = [
    "AccessOptions",
    "AccessReport",
    "DeclaredTopic",
    "ExistingTopic",
    "RefusedTopicChange",
    "TopicAlteration",
    "TopicApplyReport",
    "TopicPlan",
    "access_table",
    "apply_access",
    "apply_topics",
    "compare_topics",
    "declared_acls",
    "declared_topics",
    "diff_topics",
    "select_topics",
]
