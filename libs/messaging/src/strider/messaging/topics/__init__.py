"""Topics on the broker: what is declared, what is there, and making the one equal the other."""

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
    "Alteration",
    "DeclaredTopic",
    "ExistingTopic",
    "RefusedChange",
    "Report",
    "TopicPlan",
    "apply_topics",
    "choose_topics",
    "compare_topics",
    "declared_topics",
    "diff_topics",
]
