// Types of elements.js, for pages that embed Parley's elements.

/**
 * Hands out the bearer token; asked before every request. Null says that nobody is signed
 * in; where it throws the element tries again.
 */
export type TokenSource = () => string | null | Promise<string | null>

/** What all elements have. Set getToken before the element is used. */
export interface ParleyElement extends HTMLElement {
	getToken: TokenSource
}

/**
 * `<parley-question question-id base no-drafts>`: one question as a card, until it is a
 * record. With no-drafts what is typed is not kept in the page's sessionStorage.
 */
export declare class ParleyQuestion extends HTMLElement implements ParleyElement {
	getToken: TokenSource
	/** The surface that is recorded with the answer. Default: chat. */
	via: 'chat' | 'inbox'
	readonly questionId: string
}

/** `<parley-approval approval-id base>`: one of the host's own requests for permission as a card, until it is a record. */
export declare class ParleyApproval extends HTMLElement implements ParleyElement {
	getToken: TokenSource
	/** The surface that is recorded with the decision. Default: chat. */
	via: 'chat' | 'inbox'
	readonly approvalId: string
}

/** `<parley-chat conversation-id base no-drafts>`: one conversation. */
export declare class ParleyChat extends HTMLElement implements ParleyElement {
	getToken: TokenSource
	readonly conversationId: string
	/** Scrolls to a call of the conversation and gives it the focus. */
	show(call: string): void
}

/** `<parley-inbox base no-drafts>`: all open questions and permissions of the signed-in person. */
export declare class ParleyInbox extends HTMLElement implements ParleyElement {
	getToken: TokenSource
}

/** The events that the elements send. They bubble and cross shadow roots. */
export interface ParleyEventMap {
	/** The server took an answer of this page. */
	'parley-answered': CustomEvent<{ id: string; action: 'accept' | 'decline' | 'cancel' }>
	/** The server took a decision on a permission of this page. */
	'parley-decided': CustomEvent<{ id: string; allow: boolean }>
	/** A request was refused, or no answer came (code "unreachable"). */
	'parley-error': CustomEvent<{ id: string; code: string }>
	/** The bearer token is not accepted any more. Set getToken again once there is another. */
	'parley-token-expired': CustomEvent<null>
	/** A form shows errors, or shows them no more. */
	'parley-problem': CustomEvent<{ shown: boolean }>
	/** The person wants to see the conversation of a question in the inbox. */
	'parley-show': CustomEvent<{ conversation: string; call: string }>
}

type Drafts = { 'no-drafts'?: boolean | '' }
type Attributes = { base?: string; class?: string; id?: string; ref?: unknown; key?: string | number }

declare global {
	interface HTMLElementTagNameMap {
		'parley-question': ParleyQuestion
		'parley-approval': ParleyApproval
		'parley-chat': ParleyChat
		'parley-inbox': ParleyInbox
	}
	interface HTMLElementEventMap extends ParleyEventMap {}
	namespace JSX {
		interface IntrinsicElements {
			'parley-question': Attributes & Drafts & { 'question-id': string; getToken?: TokenSource }
			'parley-approval': Attributes & { 'approval-id': string; getToken?: TokenSource }
			'parley-chat': Attributes & Drafts & { 'conversation-id': string; getToken?: TokenSource }
			'parley-inbox': Attributes & Drafts & { getToken?: TokenSource }
		}
	}
}
