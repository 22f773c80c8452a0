// What the HTTP API of `parley serve` sends and takes.

export type Principal = { issuer: string; tenant: string; subject: string }

/** A group of routes that a session may use. */
export type Scope = 'read' | 'answer' | 'call'

export type Session = {
	principal: Principal
	name: string
	scopes: Scope[]
	/** The only conversation that the session sees; empty: all. */
	conversation: string
	/** The only approval that the session sees, and nothing else; left out: no such session. */
	approval?: string
	operator: boolean
	/** model: whoever has the session is no person. */
	actor?: 'person' | 'model'
	/** There is POST /sign-out. */
	sign_out: boolean
	product: string
	version: string
	model: boolean
}

export type Server = {
	id: string
	kind: 'http' | 'stdio'
	local: boolean
	address: string
	domain: string
	status: 'connected' | 'idle' | 'sign_in' | 'failed'
	era: string
	revision: string
	error: string
	notes: string[] | null
	sign_in: 'none' | 'needed' | 'done'
	can_sign_in: boolean
	can_sign_out: boolean
	account?: string
}

/** SignInPage is where a person has to go to sign in to a server. */
export type SignInPage = { readonly url: string; readonly link: Link; readonly issuer: string; readonly scopes: readonly string[] }

/** SignOutResult says what became of a sign-in to a server at its authorization server. */
export type SignOutResult = { readonly server: string; readonly revoked: 'revoked' | 'pending' | 'not_offered' | 'nothing' }

/** One part of a tool that has changed, in the server's words. */
export type ToolPart = {
	part: 'description' | 'input_schema' | 'annotations'
	before: string
	after: string
	/** Only the beginnings are here, or nothing. */
	cut: boolean
}

/** How a tool differs from what the person last saw or allowed. */
export type ToolChange = { new: boolean; parts: ToolPart[] }

export type Tool = { name: string; title: string; description: string; view: View; fingerprint: string; changed: boolean; change: ToolChange | null }

/**
 * One raw answer: the text as it was typed, the values of the ticked choices,
 * or "" sent on purpose. The server parses it.
 */
export type Raw = string | string[] | { empty: true }
export type Input = { [field: string]: Raw }

export type Option = { value: string; label: string; hint?: string; show_value?: boolean }

/** A field as package form's View describes it. Bounds of numbers are literals. */
export type Field = {
	name: string
	label: string
	hint?: string
	control: 'text' | 'textarea' | 'email' | 'uri' | 'integer' | 'number' | 'boolean' | 'date' | 'date-time' | 'choice' | 'choices' | 'json' | 'unsupported'
	required?: boolean
	options?: Option[] | null
	filter?: boolean
	minimum?: string
	maximum?: string
	exclusive_minimum?: string
	exclusive_maximum?: string
	multiple_of?: string
	min_length?: number | null
	max_length?: number | null
	min_items?: number | null
	max_items?: number | null
	pattern?: string
	pattern_enforced?: boolean
	format?: string
	default?: Raw | null
	multiline?: boolean
	input_mode?: string
	autocomplete?: string
	empty_allowed?: boolean
	problem?: string
	secret?: boolean
}

export type View = {
	fields: Field[] | null
	confirm?: boolean
	problem?: string
	left_out?: { name: string; label: string; problem: string }[] | null
	notes?: { name: string; code: string; text: string }[] | null
}

export type FieldError = { field?: string; pointer?: string; code: string; params?: { [name: string]: unknown } | null; text: string }

/** What a surface may do with an address, from mild to strict. */
export type Verdict = 'ok' | 'note' | 'warn' | 'refuse'

export type Finding = { code: string; verdict?: Verdict; text: string }

/** What a URL really is: package link's Report. */
export type Link = {
	verdict: Verdict
	scheme?: string
	host?: string
	port?: string
	host_unicode?: string
	domain?: string
	domain_unicode?: string
	/** The only form to show and to open; absent when refused. */
	href?: string
	raw?: string
	findings?: Finding[] | null
}

export type ReviewRow = { name?: string; label: string; value: string; from?: 'you' | 'default' | 'earlier' | '' }
export type Check = { review: ReviewRow[] | null; omitted: { name: string; label: string }[] | null }

export type Action = 'accept' | 'decline' | 'cancel'

/** Where a person does something, as the trail tells it. */
export type Via = 'chat' | 'inbox'

export type Answer = { action: Action; review?: ReviewRow[] | null; at: string; via: string }

export type QuestionState = 'open' | 'opened' | 'accepted' | 'declined' | 'cancelled' | 'expired' | 'withdrawn'

export type Question = {
	id: string
	version: number
	call: string
	conversation: string
	server: string
	server_local: boolean
	server_address: string
	tool: string
	/** What people call the tool: its title, or its name. */
	tool_title?: string
	mode: 'form' | 'url'
	message: string
	message_findings?: (Finding | string)[] | null
	view: View | null
	refused?: string
	/** What is stored of it cannot be read: nobody can answer it. */
	unreadable?: boolean
	url: Link | null
	state: QuestionState
	round: number
	position: number
	of: number
	held: boolean
	suggested?: Input | null
	note?: string
	answer: Answer | null
	closed_by?: string
	can_take_back: boolean
	/** When the server first said that the person is done at the address. */
	completed_at?: string | null
	created_at: string
	expires_at?: string | null
}

/** How much one approval covers: this call, this tool in this conversation, or this tool. */
export type Reach = 'once' | 'conversation' | 'always'

export type ApprovalState = 'open' | 'allowed' | 'denied' | 'expired' | 'withdrawn'

/** The host's own request for permission. It is no question: no server asked it. */
export type Approval = {
	id: string
	version: number
	call: string
	/** Empty on calls of other people. */
	conversation: string
	mine: boolean
	asker: Principal
	actor: 'person' | 'model'
	server: string
	server_local: boolean
	method: string
	tool: string
	tool_title: string
	description: string
	/** Of the tool, since it was last allowed or seen. */
	change: ToolChange | null
	arguments: unknown
	/** The bytes of what is null because it is large; the approval by its id has it. */
	arguments_size?: number
	/** What is stored of it cannot be read: it can be denied, and not allowed. */
	unreadable?: boolean
	rule: string
	reason: string
	/** Who decides, if not the asker. */
	assignee: { principal: Principal | null; group?: string } | null
	/** The asker may not decide. */
	other_person: boolean
	offer: Reach[]
	/** Questions whose answers would leave with the next send; never the answers. */
	answered: { question: string; message: string }[]
	state: ApprovalState
	scope?: Reach
	standing: boolean
	decided_by: Principal | null
	via?: string
	can_decide: boolean
	created_at: string
	expires_at: string | null
	closed_at: string | null
}

/** Questions that were not shown: too many, too large, or against the policy; in an event, a count of 0 says that the person has cleared them. */
export type Refusal = { server: string; count: number; since: string; last: string }

/** One thing that happened: an entry of the person's own trail. */
export type AuditEntry = {
	id: number
	at: string
	kind: string
	call?: string
	question?: string
	approval?: string
	server?: string
	tool?: string
	actor?: string
	mode?: string
	count?: number
	machine?: string
	by?: Principal
	via?: string
	evidence?: string
	state?: string
	reason?: string
	rule?: string
	scope?: string
}

export type CallState =
	| 'new' | 'approving' | 'ready' | 'claimed' | 'sent' | 'waiting' | 'blocked' | 'uncertain'
	| 'done' | 'failed' | 'denied' | 'stopped' | 'expired' | 'interrupted' | 'lapsed'

export type Call = {
	id: string
	version: number
	conversation: string
	server: string
	server_local: boolean
	actor: 'person' | 'model'
	method: string
	name: string
	title: string
	arguments: unknown
	state: CallState
	reason: string
	text: string
	round: number
	held: boolean
	created_at: string
	updated_at: string
	ended_at?: string | null
	expires_at?: string | null
	result: unknown
	error: { code: number; message: string } | null
	/** The bytes of what is null because it is large; the call by its id has it. */
	arguments_size?: number
	result_size?: number
	error_size?: number
	replaces?: string
	questions: string[] | null
	can: { stop?: boolean; resolve?: boolean; run_again?: boolean; decline_rest?: boolean } | null
}

export type Resolve = 'send_again' | 'it_happened' | 'give_up'

export type Conversation = { id: string; title: string; updated_at: string; open_questions: number }

/** isOpen says whether a question still waits for its person. */
export function isOpen(question: Question): boolean {
	return question.state === 'open' || question.state === 'opened'
}

const ends: ReadonlySet<CallState> = new Set<CallState>(['done', 'failed', 'denied', 'stopped', 'expired', 'interrupted', 'lapsed'])

/** hasEnded says whether nothing more will happen to a call. */
export function hasEnded(call: Call): boolean {
	return ends.has(call.state)
}
