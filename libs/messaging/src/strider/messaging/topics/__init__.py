"""Topics on the broker: compare them with the declarations, apply the difference, tail them."""

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
    "DeclaredTopic",
    "ExistingTopic",
    "RefusedTopicChange",
    "TopicAlteration",
    "TopicApplyReport",
    "TopicPlan",
    "apply_topics",
    "compare_topics",
    "declared_topics",
    "diff_topics",
    "select_topics",
]
