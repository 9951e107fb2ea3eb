"""The types of ACP version 1. Generated from schema/v1.json by `python -m middleware.acp.generate`: do not edit.

A field has the schema's name in snake_case (`meta` for `_meta`); absent is None, or the schema's default, and null is
`NULL` where it means another thing. The tag of a union is not a field: the class says it, and `UNIONS` maps the one to
the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from attrs import field, frozen

from middleware.acp.vocabulary import (
    AcpObject,
    Kind,
    Lenient,
    LenientItems,
    Method,
    MinLength,
    Null,
    NullIsDefault,
    Range,
    TaggedUnion,
    Uint,
)

__all__ = [
    "FLATTENED",
    "METHODS",
    "UNIONS",
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "Annotations",
    "ArchiveSessionRequest",
    "ArchiveSessionResponse",
    "AudioContent",
    "AuthAccount",
    "AuthCapabilities",
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodId",
    "AuthMethodTerminal",
    "AuthState",
    "AuthStatusCapabilities",
    "AuthStatusRequest",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "BlobResourceContents",
    "BooleanConfigOptionCapabilities",
    "BooleanPropertySchema",
    "CancelNotification",
    "CancelRequestNotification",
    "CancelledPermissionOutcome",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "CompactionCapabilities",
    "CompactionId",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "CompleteElicitationNotification",
    "ConfigOptionUpdate",
    "Content",
    "ContentBlock",
    "ContentChunk",
    "Cost",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "CurrentModeUpdate",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "Diff",
    "DisableProviderRequest",
    "DisableProviderResponse",
    "ElicitationAcceptAction",
    "ElicitationCancelAction",
    "ElicitationCapabilities",
    "ElicitationContentValue",
    "ElicitationDeclineAction",
    "ElicitationFormCapabilities",
    "ElicitationFormMode",
    "ElicitationId",
    "ElicitationPropertySchema",
    "ElicitationRequestScope",
    "ElicitationSchema",
    "ElicitationSchemaType",
    "ElicitationScope",
    "ElicitationSessionScope",
    "ElicitationUrlCapabilities",
    "ElicitationUrlMode",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "EnumOption",
    "EnvVariable",
    "Error",
    "ErrorCode",
    "FileSystemCapabilities",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "HttpHeader",
    "IdleStateUpdate",
    "ImageContent",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "IntegerPropertySchema",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "ListProvidersRequest",
    "ListProvidersResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LlmProtocol",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "LogoutCapabilities",
    "LogoutRequest",
    "LogoutResponse",
    "McpCapabilities",
    "McpError",
    "McpRequestId",
    "McpServer",
    "McpServerAcp",
    "McpServerAcpId",
    "McpServerHttp",
    "McpServerSse",
    "McpServerStdio",
    "MessageId",
    "MessageMcpError",
    "MessageMcpNotification",
    "MessageMcpRequest",
    "MessageMcpResponse",
    "MessageMcpResult",
    "MultiSelectItems",
    "MultiSelectPropertySchema",
    "NewSessionRequest",
    "NewSessionResponse",
    "Notice",
    "NoticeCapabilities",
    "NoticeSeverity",
    "NumberPropertySchema",
    "PermissionOption",
    "PermissionOptionId",
    "PermissionOptionKind",
    "Plan",
    "PlanCapabilities",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanFile",
    "PlanId",
    "PlanItems",
    "PlanMarkdown",
    "PlanRemoved",
    "PlanUpdate",
    "PlanUpdateContent",
    "PromptCapabilities",
    "PromptRequest",
    "PromptResponse",
    "ProtocolVersion",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "ProvidersCapabilities",
    "ReadTextFileRequest",
    "ReadTextFileResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "RequestId",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequiresActionStateUpdate",
    "ResourceLink",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "Role",
    "RunningStateUpdate",
    "SelectedPermissionOutcome",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionArchiveCapabilities",
    "SessionArchiveFilter",
    "SessionCancelCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigBoolean",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigOption",
    "SessionConfigOptionCategory",
    "SessionConfigOptionsCapabilities",
    "SessionConfigSelect",
    "SessionConfigSelectGroup",
    "SessionConfigSelectOption",
    "SessionConfigSelectOptions",
    "SessionConfigValueId",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionId",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionListCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "SessionMode",
    "SessionModeId",
    "SessionModeState",
    "SessionNotification",
    "SessionResumeCapabilities",
    "SessionStatus",
    "SessionStatusCapabilities",
    "SessionStatusRequest",
    "SessionStatusResponse",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
    "SessionUpdate",
    "SetProviderRequest",
    "SetProviderResponse",
    "SetSessionConfigOptionBoolean",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionConfigOptionValueId",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
    "SetSessionTitleRequest",
    "SetSessionTitleResponse",
    "StateUpdate",
    "StopReason",
    "StringFormat",
    "StringMultiSelectItems",
    "StringPropertySchema",
    "SubagentCapabilities",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "SystemPrompt",
    "SystemPromptMode",
    "Terminal",
    "TerminalExitStatus",
    "TerminalId",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "TextContent",
    "TextResourceContents",
    "TitledMultiSelectItems",
    "ToolCall",
    "ToolCallContent",
    "ToolCallId",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolKind",
    "UnarchiveSessionRequest",
    "UnarchiveSessionResponse",
    "UnknownStateUpdate",
    "UnstructuredCommandInput",
    "Usage",
    "UsageUpdate",
    "UserMessageChunk",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
    "WriteTextFileRequest",
    "WriteTextFileResponse",
]


@frozen(kw_only=True, eq=False, repr=False)
class AgentAuthCapabilities(AcpObject):
    status: Lenient[AuthStatusCapabilities | None] = None
    logout: Lenient[LogoutCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PromptCapabilities(AcpObject):
    image: Lenient[bool] = False
    audio: Lenient[bool] = False
    embedded_context: Lenient[bool] = False
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class McpCapabilities(AcpObject):
    http: Lenient[bool] = False
    sse: Lenient[bool] = False
    acp: Lenient[bool] = False
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionCapabilities(AcpObject):
    list: Lenient[SessionListCapabilities | None] = None
    delete: Lenient[SessionDeleteCapabilities | None] = None
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities | None] = None
    system_prompt: Lenient[SessionSystemPromptCapabilities | None] = None
    fork: Lenient[SessionForkCapabilities | None] = None
    archive: Lenient[SessionArchiveCapabilities | None] = None
    status: Lenient[SessionStatusCapabilities | None] = None
    title: Lenient[SessionTitleCapabilities | None] = None
    resume: Lenient[SessionResumeCapabilities | None] = None
    close: Lenient[SessionCloseCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AgentCapabilities(AcpObject):
    load_session: Lenient[bool] = False
    prompt_capabilities: Lenient[PromptCapabilities] = field(factory=PromptCapabilities)
    mcp_capabilities: Lenient[McpCapabilities] = field(factory=McpCapabilities)
    session_capabilities: Lenient[SessionCapabilities] = field(factory=SessionCapabilities)
    auth: Lenient[AgentAuthCapabilities] = field(factory=AgentAuthCapabilities)
    providers: Lenient[ProvidersCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ContentChunk(AcpObject):
    content: ContentBlock
    message_id: Lenient[MessageId | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AgentMessageChunk(ContentChunk):
    """SessionUpdate with sessionUpdate "agent_message_chunk"."""


@frozen(kw_only=True, eq=False, repr=False)
class AgentThoughtChunk(ContentChunk):
    """SessionUpdate with sessionUpdate "agent_thought_chunk"."""


@frozen(kw_only=True, eq=False, repr=False)
class Annotations(AcpObject):
    audience: LenientItems[Sequence[Role] | None] = None
    last_modified: Lenient[str | None] = None
    priority: Lenient[float | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ArchiveSessionRequest(AcpObject):
    """Params of the request `session/archive`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ArchiveSessionResponse(AcpObject):
    """Result of `session/archive`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AudioContent(AcpObject):
    """ContentBlock with type "audio"."""

    annotations: Lenient[Annotations | None] = None
    data: str
    mime_type: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthAccount(AcpObject):
    label: str
    active: Lenient[bool | None] = None
    name: Lenient[str | None] = None
    email: Lenient[str | None] = None
    organization: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthCapabilities(AcpObject):
    terminal: Lenient[bool] = False
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthMethodAgent(AcpObject):
    """AuthMethod without a tag."""

    id: AuthMethodId
    name: str
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthMethodTerminal(AcpObject):
    """AuthMethod with type "terminal"."""

    id: AuthMethodId
    name: str
    description: Lenient[str | None] = None
    args: NullIsDefault[Sequence[str]] = field(factory=list)
    env: NullIsDefault[Mapping[str, str]] = field(factory=dict)
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthStatusCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthStatusRequest(AcpObject):
    """Params of the request `auth/status`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthStatusResponse(AcpObject):
    """Result of `auth/status`."""

    state: AuthState
    accounts: LenientItems[Sequence[AuthAccount]] = field(factory=list)
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthStatusUpdateNotification(AcpObject):
    """Params of the notification `auth/status_update`."""

    state: AuthState
    accounts: LenientItems[Sequence[AuthAccount]] = field(factory=list)
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthenticateRequest(AcpObject):
    """Params of the request `authenticate`."""

    method_id: AuthMethodId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AuthenticateResponse(AcpObject):
    """Result of `authenticate`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AvailableCommand(AcpObject):
    name: str
    description: str
    input: Lenient[AvailableCommandInput | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class AvailableCommandsUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "available_commands_update"."""

    available_commands: LenientItems[Sequence[AvailableCommand]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class BlobResourceContents(AcpObject):
    """EmbeddedResourceResource without a tag."""

    blob: str
    mime_type: Lenient[str | None] = None
    uri: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class BooleanConfigOptionCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class BooleanPropertySchema(AcpObject):
    """ElicitationPropertySchema with type "boolean"."""

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    default: Lenient[bool | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CancelNotification(AcpObject):
    """Params of the notification `session/cancel`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CancelRequestNotification(AcpObject):
    """Params of the notification `$/cancel_request`."""

    request_id: RequestId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CancelledPermissionOutcome(AcpObject):
    """RequestPermissionOutcome with outcome "cancelled"."""


@frozen(kw_only=True, eq=False, repr=False)
class FileSystemCapabilities(AcpObject):
    read_text_file: Lenient[bool] = False
    write_text_file: Lenient[bool] = False
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ClientCapabilities(AcpObject):
    fs: Lenient[FileSystemCapabilities] = field(factory=FileSystemCapabilities)
    terminal: Lenient[bool] = False
    session: Lenient[ClientSessionCapabilities | None] = None
    subagents: Lenient[SubagentCapabilities | None] = None
    plan: Lenient[PlanCapabilities | None] = None
    auth: Lenient[AuthCapabilities] = field(factory=AuthCapabilities)
    elicitation: Lenient[ElicitationCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ClientSessionCapabilities(AcpObject):
    compaction: Lenient[CompactionCapabilities | None] = None
    config_options: Lenient[SessionConfigOptionsCapabilities | None] = None
    notices: Lenient[NoticeCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CloseSessionRequest(AcpObject):
    """Params of the request `session/close`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CloseSessionResponse(AcpObject):
    """Result of `session/close`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CompactionCapabilities(AcpObject):
    """An object without properties of its own."""


@frozen(kw_only=True, eq=False, repr=False)
class CompactionSummaryChunk(AcpObject):
    """SessionUpdate with sessionUpdate "compaction_summary_chunk"."""

    compaction_id: CompactionId
    content: ContentBlock
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CompactionUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "compaction_update"."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: LenientItems[Sequence[ContentBlock] | None] = None
    error: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CompleteElicitationNotification(AcpObject):
    """Params of the notification `elicitation/complete`."""

    elicitation_id: ElicitationId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ConfigOptionUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "config_option_update"."""

    config_options: LenientItems[Sequence[SessionConfigOption]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Content(AcpObject):
    """ToolCallContent with type "content"."""

    content: ContentBlock
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Cost(AcpObject):
    amount: float
    currency: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CreateTerminalRequest(AcpObject):
    """Params of the request `terminal/create`."""

    session_id: SessionId
    command: str
    args: NullIsDefault[Sequence[str]] = field(factory=list)
    env: NullIsDefault[Sequence[EnvVariable]] = field(factory=list)
    cwd: str | None = None
    output_byte_limit: Uint | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CreateTerminalResponse(AcpObject):
    """Result of `terminal/create`."""

    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class CurrentModeUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "current_mode_update"."""

    current_mode_id: SessionModeId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class DeleteSessionRequest(AcpObject):
    """Params of the request `session/delete`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class DeleteSessionResponse(AcpObject):
    """Result of `session/delete`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Diff(AcpObject):
    """ToolCallContent with type "diff"."""

    path: str
    old_text: Lenient[str | None] = None
    new_text: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class DisableProviderRequest(AcpObject):
    """Params of the request `providers/disable`."""

    provider_id: ProviderId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class DisableProviderResponse(AcpObject):
    """Result of `providers/disable`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationAcceptAction(AcpObject):
    """CreateElicitationResponse with action "accept"."""

    content: Mapping[str, ElicitationContentValue] | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationCancelAction(AcpObject):
    """CreateElicitationResponse with action "cancel"."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationCapabilities(AcpObject):
    form: Lenient[ElicitationFormCapabilities | None] = None
    url: Lenient[ElicitationUrlCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationDeclineAction(AcpObject):
    """CreateElicitationResponse with action "decline"."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationFormCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationFormMode(AcpObject):
    """CreateElicitationRequest with mode "form"."""

    scope: ElicitationScope
    message: str
    requested_schema: ElicitationSchema
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationRequestScope(AcpObject):
    request_id: RequestId


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationSchema(AcpObject):
    type: Lenient[ElicitationSchemaType] = "object"
    title: Lenient[str | None] = None
    properties: Mapping[str, ElicitationPropertySchema] = field(factory=dict)
    required: Sequence[str] | None = None
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationSessionScope(AcpObject):
    session_id: SessionId
    tool_call_id: Lenient[ToolCallId | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationUrlCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ElicitationUrlMode(AcpObject):
    """CreateElicitationRequest with mode "url"."""

    scope: ElicitationScope
    message: str
    elicitation_id: ElicitationId
    url: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class EmbeddedResource(AcpObject):
    """ContentBlock with type "resource"."""

    annotations: Lenient[Annotations | None] = None
    resource: EmbeddedResourceResource
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class EnumOption(AcpObject):
    const: str
    title: str
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class EnvVariable(AcpObject):
    name: str
    value: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Error(AcpObject):
    code: ErrorCode
    message: str
    data: Any = None


@frozen(kw_only=True, eq=False, repr=False)
class ForkSessionRequest(AcpObject):
    """Params of the request `session/fork`."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsDefault[Sequence[str]] = field(factory=list)
    mcp_servers: NullIsDefault[Sequence[McpServer]] = field(factory=list)
    system_prompt: SystemPrompt | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ForkSessionResponse(AcpObject):
    """Result of `session/fork`."""

    session_id: SessionId
    modes: Lenient[SessionModeState | None] = None
    config_options: LenientItems[Sequence[SessionConfigOption] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class HttpHeader(AcpObject):
    name: str
    value: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class IdleStateUpdate(AcpObject):
    """StateUpdate with state "idle"."""

    usage: Lenient[Usage | None] = None
    stop_reason: Lenient[str | None] = None
    error: Lenient[Error | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ImageContent(AcpObject):
    """ContentBlock with type "image"."""

    annotations: Lenient[Annotations | None] = None
    data: str
    mime_type: str
    uri: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Implementation(AcpObject):
    name: str
    title: Lenient[str | None] = None
    version: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class InitializeRequest(AcpObject):
    """Params of the request `initialize`."""

    protocol_version: ProtocolVersion
    client_capabilities: Lenient[ClientCapabilities] = field(factory=ClientCapabilities)
    client_info: Lenient[Implementation | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class InitializeResponse(AcpObject):
    """Result of `initialize`."""

    protocol_version: ProtocolVersion
    agent_capabilities: Lenient[AgentCapabilities] = field(factory=AgentCapabilities)
    auth_methods: LenientItems[Sequence[AuthMethod]] = field(factory=list)
    agent_info: Lenient[Implementation | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class IntegerPropertySchema(AcpObject):
    """ElicitationPropertySchema with type "integer"."""

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    minimum: int | None = None
    maximum: int | None = None
    default: Lenient[int | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class KillTerminalRequest(AcpObject):
    """Params of the request `terminal/kill`."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class KillTerminalResponse(AcpObject):
    """Result of `terminal/kill`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ListProvidersRequest(AcpObject):
    """Params of the request `providers/list`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ListProvidersResponse(AcpObject):
    """Result of `providers/list`."""

    providers: Sequence[ProviderInfo]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ListSessionsRequest(AcpObject):
    """Params of the request `session/list`."""

    cwd: str | None = None
    cursor: str | None = None
    archived: SessionArchiveFilter | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ListSessionsResponse(AcpObject):
    """Result of `session/list`."""

    sessions: LenientItems[Sequence[SessionInfo]]
    next_cursor: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class LoadSessionRequest(AcpObject):
    """Params of the request `session/load`."""

    mcp_servers: NullIsDefault[Sequence[McpServer]]
    cwd: str
    additional_directories: NullIsDefault[Sequence[str]] = field(factory=list)
    session_id: SessionId
    system_prompt: SystemPrompt | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class LoadSessionResponse(AcpObject):
    """Result of `session/load`."""

    modes: Lenient[SessionModeState | None] = None
    config_options: LenientItems[Sequence[SessionConfigOption] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class LogoutCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class LogoutRequest(AcpObject):
    """Params of the request `logout`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class LogoutResponse(AcpObject):
    """Result of `logout`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class McpError(AcpObject):
    code: int
    message: str
    data: Any = None


@frozen(kw_only=True, eq=False, repr=False)
class McpServerAcp(AcpObject):
    """McpServer with type "acp"."""

    name: str
    server_id: McpServerAcpId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class McpServerHttp(AcpObject):
    """McpServer with type "http"."""

    name: str
    url: str
    headers: NullIsDefault[Sequence[HttpHeader]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class McpServerSse(AcpObject):
    """McpServer with type "sse"."""

    name: str
    url: str
    headers: NullIsDefault[Sequence[HttpHeader]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class McpServerStdio(AcpObject):
    """McpServer without a tag."""

    name: str
    command: str
    args: NullIsDefault[Sequence[str]]
    env: NullIsDefault[Sequence[EnvVariable]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class MessageMcpError(AcpObject):
    """MessageMcpResponse without a tag."""

    error: McpError
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class MessageMcpNotification(AcpObject):
    """Params of the notification `mcp/message`."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: dict[str, Any] | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class MessageMcpRequest(AcpObject):
    """Params of the request `mcp/message`."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: dict[str, Any] | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class MessageMcpResult(AcpObject):
    """MessageMcpResponse without a tag."""

    result: Any
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class MultiSelectPropertySchema(AcpObject):
    """ElicitationPropertySchema with type "array"."""

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    min_items: Uint | None = None
    max_items: Uint | None = None
    items: MultiSelectItems
    default: LenientItems[Sequence[str] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class NewSessionRequest(AcpObject):
    """Params of the request `session/new`."""

    cwd: str
    additional_directories: NullIsDefault[Sequence[str]] = field(factory=list)
    mcp_servers: NullIsDefault[Sequence[McpServer]]
    system_prompt: SystemPrompt | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class NewSessionResponse(AcpObject):
    """Result of `session/new`."""

    session_id: SessionId
    modes: Lenient[SessionModeState | None] = None
    config_options: LenientItems[Sequence[SessionConfigOption] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Notice(AcpObject):
    """SessionUpdate with sessionUpdate "notice"."""

    severity: NoticeSeverity
    title: Annotated[str, MinLength(1)]
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class NoticeCapabilities(AcpObject):
    """An object without properties of its own."""


@frozen(kw_only=True, eq=False, repr=False)
class NumberPropertySchema(AcpObject):
    """ElicitationPropertySchema with type "number"."""

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    minimum: float | None = None
    maximum: float | None = None
    default: Lenient[float | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PermissionOption(AcpObject):
    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Plan(AcpObject):
    """SessionUpdate with sessionUpdate "plan"."""

    entries: LenientItems[Sequence[PlanEntry]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanEntry(AcpObject):
    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanFile(AcpObject):
    """PlanUpdateContent with type "file"."""

    plan_id: PlanId
    uri: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanItems(AcpObject):
    """PlanUpdateContent with type "items"."""

    plan_id: PlanId
    entries: LenientItems[Sequence[PlanEntry]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanMarkdown(AcpObject):
    """PlanUpdateContent with type "markdown"."""

    plan_id: PlanId
    content: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanRemoved(AcpObject):
    """SessionUpdate with sessionUpdate "plan_removed"."""

    plan_id: PlanId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PlanUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "plan_update"."""

    plan: PlanUpdateContent
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PromptRequest(AcpObject):
    """Params of the request `session/prompt`."""

    session_id: SessionId
    prompt: Sequence[ContentBlock]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class PromptResponse(AcpObject):
    """Result of `session/prompt`."""

    stop_reason: StopReason
    usage: Lenient[Usage | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ProviderCurrentConfig(AcpObject):
    api_type: LlmProtocol
    base_url: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ProviderInfo(AcpObject):
    provider_id: ProviderId
    supported: LenientItems[Sequence[LlmProtocol]]
    required: bool
    current: ProviderCurrentConfig | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ProvidersCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ReadTextFileRequest(AcpObject):
    """Params of the request `fs/read_text_file`."""

    session_id: SessionId
    path: str
    line: Uint | None = None
    limit: Uint | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ReadTextFileResponse(AcpObject):
    """Result of `fs/read_text_file`."""

    content: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ReleaseTerminalRequest(AcpObject):
    """Params of the request `terminal/release`."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ReleaseTerminalResponse(AcpObject):
    """Result of `terminal/release`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class RequestPermissionRequest(AcpObject):
    """Params of the request `session/request_permission`."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: Sequence[PermissionOption]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class RequestPermissionResponse(AcpObject):
    """Result of `session/request_permission`."""

    outcome: RequestPermissionOutcome
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class RequiresActionStateUpdate(AcpObject):
    """StateUpdate with state "requires_action"."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ResourceLink(AcpObject):
    """ContentBlock with type "resource_link"."""

    annotations: Lenient[Annotations | None] = None
    description: Lenient[str | None] = None
    mime_type: Lenient[str | None] = None
    name: str
    size: Lenient[int | None] = None
    title: Lenient[str | None] = None
    uri: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ResumeSessionRequest(AcpObject):
    """Params of the request `session/resume`."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsDefault[Sequence[str]] = field(factory=list)
    mcp_servers: NullIsDefault[Sequence[McpServer]] = field(factory=list)
    system_prompt: SystemPrompt | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ResumeSessionResponse(AcpObject):
    """Result of `session/resume`."""

    modes: Lenient[SessionModeState | None] = None
    config_options: LenientItems[Sequence[SessionConfigOption] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class RunningStateUpdate(AcpObject):
    """StateUpdate with state "running"."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SelectedPermissionOutcome(AcpObject):
    """RequestPermissionOutcome with outcome "selected"."""

    option_id: PermissionOptionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionAdditionalDirectoriesCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionArchiveCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionCancelCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionCloseCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfigBoolean(AcpObject):
    """SessionConfigOption with type "boolean"."""

    id: SessionConfigId
    name: str
    description: Lenient[str | None] = None
    category: Lenient[SessionConfigOptionCategory | None] = None
    current_value: bool
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfigOptionsCapabilities(AcpObject):
    boolean: Lenient[BooleanConfigOptionCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfigSelect(AcpObject):
    """SessionConfigOption with type "select"."""

    id: SessionConfigId
    name: str
    description: Lenient[str | None] = None
    category: Lenient[SessionConfigOptionCategory | None] = None
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfigSelectGroup(AcpObject):
    group: SessionConfigGroupId
    name: str
    options: LenientItems[Sequence[SessionConfigSelectOption]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfigSelectOption(AcpObject):
    value: SessionConfigValueId
    name: str
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionDeleteCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionForkCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionInfo(AcpObject):
    session_id: SessionId
    cwd: str
    additional_directories: LenientItems[Sequence[str]] = field(factory=list)
    title: Lenient[str | None] = None
    updated_at: Lenient[str | None] = None
    archived: Lenient[bool | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionInfoUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "session_info_update"."""

    title: Lenient[str | Null | None] = None
    updated_at: Lenient[str | Null | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionListCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionMessage(AcpObject):
    """SessionUpdate with sessionUpdate "session_message"."""

    message_id: MessageId
    sender_session_id: Lenient[SessionId | None] = None
    recipient_session_id: Lenient[SessionId | None] = None
    sender_message_id: Lenient[MessageId | None] = None
    recipient_message_id: Lenient[MessageId | None] = None
    content: LenientItems[Sequence[ContentBlock] | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionMessageChunk(AcpObject):
    """SessionUpdate with sessionUpdate "session_message_chunk"."""

    message_id: MessageId
    content: ContentBlock
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionMode(AcpObject):
    id: SessionModeId
    name: str
    description: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionModeState(AcpObject):
    current_mode_id: SessionModeId
    available_modes: LenientItems[Sequence[SessionMode]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionNotification(AcpObject):
    """Params of the notification `session/update`."""

    session_id: SessionId
    update: SessionUpdate
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionResumeCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionStatusCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionStatusRequest(AcpObject):
    """Params of the request `session/status`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionStatusResponse(AcpObject):
    """Result of `session/status`."""

    status: SessionStatus
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionSystemPromptCapabilities(AcpObject):
    mode: Lenient[SessionSystemPromptModeCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionSystemPromptModeCapabilities(AcpObject):
    override: Lenient[SessionSystemPromptOverrideCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionSystemPromptOverrideCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SessionTitleCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetProviderRequest(AcpObject):
    """Params of the request `providers/set`."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Mapping[str, str] = field(factory=dict)
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetProviderResponse(AcpObject):
    """Result of `providers/set`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionConfigOptionBoolean(AcpObject):
    """SetSessionConfigOptionRequest with type "boolean"."""

    session_id: SessionId
    config_id: SessionConfigId
    value: bool
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionConfigOptionResponse(AcpObject):
    """Result of `session/set_config_option`."""

    config_options: LenientItems[Sequence[SessionConfigOption]]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionConfigOptionValueId(AcpObject):
    """SetSessionConfigOptionRequest without a tag."""

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionModeRequest(AcpObject):
    """Params of the request `session/set_mode`."""

    session_id: SessionId
    mode_id: SessionModeId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionModeResponse(AcpObject):
    """Result of `session/set_mode`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionTitleRequest(AcpObject):
    """Params of the request `session/set_title`."""

    session_id: SessionId
    title: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SetSessionTitleResponse(AcpObject):
    """Result of `session/set_title`."""

    title: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class StringMultiSelectItems(AcpObject):
    """MultiSelectItems with type "string"."""

    enum: Sequence[str]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class StringPropertySchema(AcpObject):
    """ElicitationPropertySchema with type "string"."""

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    min_length: Uint | None = None
    max_length: Uint | None = None
    pattern: str | None = None
    format: StringFormat | None = None
    default: Lenient[str | None] = None
    enum: Sequence[str] | None = None
    one_of: Sequence[EnumOption] | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SubagentCapabilities(AcpObject):
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SubagentSessionCapabilities(AcpObject):
    cancel: Lenient[SessionCancelCapabilities | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SubagentUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "subagent_update"."""

    session_id: SessionId
    title: Lenient[str | Null | None] = None
    description: Lenient[str | Null | None] = None
    capabilities: Lenient[SubagentSessionCapabilities | Null | None] = None
    state: Lenient[StateUpdate | Null | None] = None
    cwd: str | Null | None = None
    additional_directories: Sequence[str] | Null | None = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class SystemPrompt(AcpObject):
    mode: SystemPromptMode
    content: Sequence[ContentBlock]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Terminal(AcpObject):
    """ToolCallContent with type "terminal"."""

    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TerminalExitStatus(AcpObject):
    exit_code: Lenient[Uint | None] = None
    signal: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TerminalOutputRequest(AcpObject):
    """Params of the request `terminal/output`."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TerminalOutputResponse(AcpObject):
    """Result of `terminal/output`."""

    output: str
    truncated: bool
    exit_status: Lenient[TerminalExitStatus | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TextContent(AcpObject):
    """ContentBlock with type "text"."""

    annotations: Lenient[Annotations | None] = None
    text: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TextResourceContents(AcpObject):
    """EmbeddedResourceResource without a tag."""

    mime_type: Lenient[str | None] = None
    text: str
    uri: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class TitledMultiSelectItems(AcpObject):
    """MultiSelectItems without a tag."""

    any_of: Sequence[EnumOption]
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ToolCall(AcpObject):
    """SessionUpdate with sessionUpdate "tool_call"."""

    tool_call_id: ToolCallId
    title: str
    name: Lenient[str | None] = None
    kind: Lenient[ToolKind | None] = None
    status: Lenient[ToolCallStatus | None] = None
    content: LenientItems[Sequence[ToolCallContent]] = field(factory=list)
    locations: LenientItems[Sequence[ToolCallLocation]] = field(factory=list)
    raw_input: Any = None
    raw_output: Any = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ToolCallLocation(AcpObject):
    path: str
    line: Lenient[Uint | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class ToolCallUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "tool_call_update"."""

    tool_call_id: ToolCallId
    kind: Lenient[ToolKind | None] = None
    status: Lenient[ToolCallStatus | None] = None
    title: Lenient[str | None] = None
    name: Lenient[str | None] = None
    content: LenientItems[Sequence[ToolCallContent] | None] = None
    locations: LenientItems[Sequence[ToolCallLocation] | None] = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UnarchiveSessionRequest(AcpObject):
    """Params of the request `session/unarchive`."""

    session_id: SessionId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UnarchiveSessionResponse(AcpObject):
    """Result of `session/unarchive`."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UnknownStateUpdate(AcpObject):
    """StateUpdate with state "unknown"."""

    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UnstructuredCommandInput(AcpObject):
    """AvailableCommandInput without a tag."""

    hint: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class Usage(AcpObject):
    total_tokens: Uint
    input_tokens: Uint
    output_tokens: Uint
    thought_tokens: Lenient[Uint | None] = None
    cached_read_tokens: Lenient[Uint | None] = None
    cached_write_tokens: Lenient[Uint | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UsageUpdate(AcpObject):
    """SessionUpdate with sessionUpdate "usage_update"."""

    used: Uint
    size: Uint
    cost: Lenient[Cost | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class UserMessageChunk(ContentChunk):
    """SessionUpdate with sessionUpdate "user_message_chunk"."""


@frozen(kw_only=True, eq=False, repr=False)
class WaitForTerminalExitRequest(AcpObject):
    """Params of the request `terminal/wait_for_exit`."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class WaitForTerminalExitResponse(AcpObject):
    """Result of `terminal/wait_for_exit`."""

    exit_code: Lenient[Uint | None] = None
    signal: Lenient[str | None] = None
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class WriteTextFileRequest(AcpObject):
    """Params of the request `fs/write_text_file`."""

    session_id: SessionId
    path: str
    content: str
    meta: Lenient[dict[str, Any] | None] = None


@frozen(kw_only=True, eq=False, repr=False)
class WriteTextFileResponse(AcpObject):
    """Result of `fs/write_text_file`."""

    meta: Lenient[dict[str, Any] | None] = None


AuthMethod: TypeAlias = AuthMethodTerminal | AuthMethodAgent
AuthMethodId: TypeAlias = str
# open; known: "authenticated", "unauthenticated", "not_required", "unknown"
AuthState: TypeAlias = str
AvailableCommandInput: TypeAlias = UnstructuredCommandInput
CompactionId: TypeAlias = str
# open; known: "in_progress", "completed", "failed", "cancelled"
CompactionStatus: TypeAlias = str
ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
CreateElicitationRequest: TypeAlias = ElicitationFormMode | ElicitationUrlMode | dict[str, Any]
CreateElicitationResponse: TypeAlias = (
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction | dict[str, Any]
)
ElicitationContentValue: TypeAlias = str | int | float | bool | Sequence[str]
ElicitationId: TypeAlias = str
ElicitationPropertySchema: TypeAlias = (
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
    | dict[str, Any]
)
ElicitationSchemaType: TypeAlias = Literal["object"]
ElicitationScope: TypeAlias = ElicitationSessionScope | ElicitationRequestScope
EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents
# open; known: -32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002
ErrorCode: TypeAlias = int
# open; known: "anthropic", "openai", "azure", "vertex", "bedrock"
LlmProtocol: TypeAlias = str
McpRequestId: TypeAlias = str
McpServer: TypeAlias = McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio
McpServerAcpId: TypeAlias = str
MessageId: TypeAlias = str
MessageMcpResponse: TypeAlias = MessageMcpResult | MessageMcpError
MultiSelectItems: TypeAlias = StringMultiSelectItems | TitledMultiSelectItems | dict[str, Any]
# open; known: "info", "warning", "error"
NoticeSeverity: TypeAlias = str
PermissionOptionId: TypeAlias = str
PermissionOptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
PlanId: TypeAlias = str
PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown
ProtocolVersion: TypeAlias = Annotated[int, Range(0, 65535)]
ProviderId: TypeAlias = str
RequestId: TypeAlias = int | str | None
RequestPermissionOutcome: TypeAlias = CancelledPermissionOutcome | SelectedPermissionOutcome
Role: TypeAlias = Literal["assistant", "user"]
# open; known: "exclude", "include", "only"
SessionArchiveFilter: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean
# open; known: "mode", "model", "model_config", "thought_level"
SessionConfigOptionCategory: TypeAlias = str
SessionConfigSelectOptions: TypeAlias = Sequence[SessionConfigSelectOption] | Sequence[SessionConfigSelectGroup]
SessionConfigValueId: TypeAlias = str
SessionId: TypeAlias = str
SessionModeId: TypeAlias = str
# open; known: "open", "saved"
SessionStatus: TypeAlias = str
SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
)
SetSessionConfigOptionRequest: TypeAlias = SetSessionConfigOptionBoolean | SetSessionConfigOptionValueId
StateUpdate: TypeAlias = (
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate | dict[str, Any]
)
StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]
# open; known: "append", "override"
SystemPromptMode: TypeAlias = str
TerminalId: TypeAlias = str
ToolCallContent: TypeAlias = Content | Diff | Terminal
ToolCallId: TypeAlias = str
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
ToolKind: TypeAlias = Literal[
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
]

UNIONS: tuple[TaggedUnion, ...] = (
    TaggedUnion(
        name="AuthMethod",
        tag="type",
        variants={
            "terminal": AuthMethodTerminal,
        },
        default=AuthMethodAgent,
    ),
    TaggedUnion(
        name="ContentBlock",
        tag="type",
        variants={
            "text": TextContent,
            "image": ImageContent,
            "audio": AudioContent,
            "resource_link": ResourceLink,
            "resource": EmbeddedResource,
        },
    ),
    TaggedUnion(
        name="CreateElicitationRequest",
        tag="mode",
        variants={
            "form": ElicitationFormMode,
            "url": ElicitationUrlMode,
        },
        open=True,
    ),
    TaggedUnion(
        name="CreateElicitationResponse",
        tag="action",
        variants={
            "accept": ElicitationAcceptAction,
            "decline": ElicitationDeclineAction,
            "cancel": ElicitationCancelAction,
        },
        open=True,
    ),
    TaggedUnion(
        name="ElicitationPropertySchema",
        tag="type",
        variants={
            "string": StringPropertySchema,
            "number": NumberPropertySchema,
            "integer": IntegerPropertySchema,
            "boolean": BooleanPropertySchema,
            "array": MultiSelectPropertySchema,
        },
        open=True,
    ),
    TaggedUnion(
        name="McpServer",
        tag="type",
        variants={
            "http": McpServerHttp,
            "sse": McpServerSse,
            "acp": McpServerAcp,
        },
        default=McpServerStdio,
    ),
    TaggedUnion(
        name="MultiSelectItems",
        tag="type",
        variants={
            "string": StringMultiSelectItems,
        },
        default=TitledMultiSelectItems,
        open=True,
    ),
    TaggedUnion(
        name="PlanUpdateContent",
        tag="type",
        variants={
            "items": PlanItems,
            "file": PlanFile,
            "markdown": PlanMarkdown,
        },
    ),
    TaggedUnion(
        name="RequestPermissionOutcome",
        tag="outcome",
        variants={
            "cancelled": CancelledPermissionOutcome,
            "selected": SelectedPermissionOutcome,
        },
    ),
    TaggedUnion(
        name="SessionConfigOption",
        tag="type",
        variants={
            "select": SessionConfigSelect,
            "boolean": SessionConfigBoolean,
        },
    ),
    TaggedUnion(
        name="SessionUpdate",
        tag="sessionUpdate",
        variants={
            "user_message_chunk": UserMessageChunk,
            "agent_message_chunk": AgentMessageChunk,
            "agent_thought_chunk": AgentThoughtChunk,
            "tool_call": ToolCall,
            "tool_call_update": ToolCallUpdate,
            "plan": Plan,
            "plan_update": PlanUpdate,
            "plan_removed": PlanRemoved,
            "available_commands_update": AvailableCommandsUpdate,
            "current_mode_update": CurrentModeUpdate,
            "config_option_update": ConfigOptionUpdate,
            "session_info_update": SessionInfoUpdate,
            "usage_update": UsageUpdate,
            "notice": Notice,
            "compaction_update": CompactionUpdate,
            "compaction_summary_chunk": CompactionSummaryChunk,
            "subagent_update": SubagentUpdate,
            "session_message": SessionMessage,
            "session_message_chunk": SessionMessageChunk,
        },
    ),
    TaggedUnion(
        name="SetSessionConfigOptionRequest",
        tag="type",
        variants={
            "boolean": SetSessionConfigOptionBoolean,
        },
        default=SetSessionConfigOptionValueId,
    ),
    TaggedUnion(
        name="StateUpdate",
        tag="state",
        variants={
            "running": RunningStateUpdate,
            "idle": IdleStateUpdate,
            "requires_action": RequiresActionStateUpdate,
            "unknown": UnknownStateUpdate,
        },
        open=True,
    ),
    TaggedUnion(
        name="ToolCallContent",
        tag="type",
        variants={
            "content": Content,
            "diff": Diff,
            "terminal": Terminal,
        },
    ),
)

# class -> the field whose object is spread over the class's own on the wire
FLATTENED: Mapping[type, str] = {
    ElicitationFormMode: "scope",
    ElicitationUrlMode: "scope",
}

METHODS: Mapping[tuple[str, Kind], Method] = {
    (row.name, row.kind): row
    for row in (
        Method(name="$/cancel_request", kind="notification", side="both", params=CancelRequestNotification),
        Method(name="auth/status", kind="request", side="agent", params=AuthStatusRequest, result=AuthStatusResponse),
        Method(name="auth/status_update", kind="notification", side="client", params=AuthStatusUpdateNotification),
        Method(
            name="authenticate", kind="request", side="agent", params=AuthenticateRequest, result=AuthenticateResponse
        ),
        Method(name="elicitation/complete", kind="notification", side="client", params=CompleteElicitationNotification),
        Method(
            name="elicitation/create",
            kind="request",
            side="client",
            params=CreateElicitationRequest,
            result=CreateElicitationResponse,
        ),
        Method(
            name="fs/read_text_file",
            kind="request",
            side="client",
            params=ReadTextFileRequest,
            result=ReadTextFileResponse,
        ),
        Method(
            name="fs/write_text_file",
            kind="request",
            side="client",
            params=WriteTextFileRequest,
            result=WriteTextFileResponse,
        ),
        Method(name="initialize", kind="request", side="agent", params=InitializeRequest, result=InitializeResponse),
        Method(name="logout", kind="request", side="agent", params=LogoutRequest, result=LogoutResponse),
        Method(name="mcp/message", kind="notification", side="agent", params=MessageMcpNotification),
        Method(name="mcp/message", kind="request", side="client", params=MessageMcpRequest, result=MessageMcpResponse),
        Method(
            name="providers/disable",
            kind="request",
            side="agent",
            params=DisableProviderRequest,
            result=DisableProviderResponse,
        ),
        Method(
            name="providers/list",
            kind="request",
            side="agent",
            params=ListProvidersRequest,
            result=ListProvidersResponse,
        ),
        Method(
            name="providers/set", kind="request", side="agent", params=SetProviderRequest, result=SetProviderResponse
        ),
        Method(
            name="session/archive",
            kind="request",
            side="agent",
            params=ArchiveSessionRequest,
            result=ArchiveSessionResponse,
        ),
        Method(name="session/cancel", kind="notification", side="agent", params=CancelNotification),
        Method(
            name="session/close", kind="request", side="agent", params=CloseSessionRequest, result=CloseSessionResponse
        ),
        Method(
            name="session/delete",
            kind="request",
            side="agent",
            params=DeleteSessionRequest,
            result=DeleteSessionResponse,
        ),
        Method(
            name="session/fork", kind="request", side="agent", params=ForkSessionRequest, result=ForkSessionResponse
        ),
        Method(
            name="session/list", kind="request", side="agent", params=ListSessionsRequest, result=ListSessionsResponse
        ),
        Method(
            name="session/load", kind="request", side="agent", params=LoadSessionRequest, result=LoadSessionResponse
        ),
        Method(name="session/new", kind="request", side="agent", params=NewSessionRequest, result=NewSessionResponse),
        Method(name="session/prompt", kind="request", side="agent", params=PromptRequest, result=PromptResponse),
        Method(
            name="session/request_permission",
            kind="request",
            side="client",
            params=RequestPermissionRequest,
            result=RequestPermissionResponse,
        ),
        Method(
            name="session/resume",
            kind="request",
            side="agent",
            params=ResumeSessionRequest,
            result=ResumeSessionResponse,
        ),
        Method(
            name="session/set_config_option",
            kind="request",
            side="agent",
            params=SetSessionConfigOptionRequest,
            result=SetSessionConfigOptionResponse,
        ),
        Method(
            name="session/set_mode",
            kind="request",
            side="agent",
            params=SetSessionModeRequest,
            result=SetSessionModeResponse,
        ),
        Method(
            name="session/set_title",
            kind="request",
            side="agent",
            params=SetSessionTitleRequest,
            result=SetSessionTitleResponse,
        ),
        Method(
            name="session/status",
            kind="request",
            side="agent",
            params=SessionStatusRequest,
            result=SessionStatusResponse,
        ),
        Method(
            name="session/unarchive",
            kind="request",
            side="agent",
            params=UnarchiveSessionRequest,
            result=UnarchiveSessionResponse,
        ),
        Method(name="session/update", kind="notification", side="client", params=SessionNotification),
        Method(
            name="terminal/create",
            kind="request",
            side="client",
            params=CreateTerminalRequest,
            result=CreateTerminalResponse,
        ),
        Method(
            name="terminal/kill", kind="request", side="client", params=KillTerminalRequest, result=KillTerminalResponse
        ),
        Method(
            name="terminal/output",
            kind="request",
            side="client",
            params=TerminalOutputRequest,
            result=TerminalOutputResponse,
        ),
        Method(
            name="terminal/release",
            kind="request",
            side="client",
            params=ReleaseTerminalRequest,
            result=ReleaseTerminalResponse,
        ),
        Method(
            name="terminal/wait_for_exit",
            kind="request",
            side="client",
            params=WaitForTerminalExitRequest,
            result=WaitForTerminalExitResponse,
        ),
    )
}
