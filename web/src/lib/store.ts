// One store per page and one event stream per store, however many elements are
// on the page: HTTP/1.1 allows a browser six connections to a host.
//
// The server's rows are the truth. A row replaces an older one by version, so
// the snapshot and the stream may arrive in any order. `hello` opens a fresh
// stream and `reset` says that it has a gap: both load the snapshot again.

import { API, Problem, type TokenSource } from './api'
import { parseExact } from './json'
import { Feed, refusal, type Connection } from './feed'
import type { StreamEvent } from './events'
import { announce } from './announce'
import { t, toolCalled } from './text'
import { hasEnded, isOpen, type Approval, type Call, type Conversation, type Question, type Refusal, type Scope, type Server, type Session, type Tool } from './wire'

export type Change =
	| { kind: 'question'; id: string }
	| { kind: 'call'; id: string }
	| { kind: 'approval'; id: string }
	/** Somebody has to be asked who may not have the page in sight. The key is of this one asking. */
	| { kind: 'asks'; what: 'question' | 'approval'; id: string; key: string; server: string }
	| { kind: 'connection' | 'snapshot' | 'servers' | 'conversations' | 'session' | 'refusals'; id?: undefined }

export class Store {
	readonly api: API
	session: Session | null = null
	servers: readonly Server[] = []
	connection: Connection = 'connecting'
	/** Servers whose questions were not shown. */
	refusals: readonly Refusal[] = []

	readonly #feed: Feed
	readonly #approvals = new Map<string, Approval>()
	readonly #questions = new Map<string, Question>()
	readonly #calls = new Map<string, Call>()
	readonly #watched = new Map<string, number>()
	readonly #subscribers = new Set<(change: Change) => void>()
	readonly #announced = new Set<string>()
	#listed: readonly Conversation[] = []
	#loaded = false

	constructor(base: string, token: TokenSource) {
		this.api = new API(base, token, (problem) => this.#heard(problem))
		this.#feed = new Feed(this.api, {
			snapshot: () => this.#loadSnapshot(),
			take: (event) => this.#take(event),
			loaded: () => this.#loaded,
			connection: (now) => this.#set(now),
		})
	}

	subscribe(listener: (change: Change) => void): () => void {
		this.#subscribers.add(listener)
		return () => this.#subscribers.delete(listener)
	}

	#emit(change: Change): void {
		for (const listener of [...this.#subscribers]) listener(change)
	}

	/** loaded says whether the first snapshot is here. */
	get loaded(): boolean {
		return this.#loaded
	}

	/** may says whether the session has the scope; before the session is known it is taken to. */
	may(scope: Scope): boolean {
		return this.session?.scopes?.includes(scope) ?? true
	}

	/** bound says whether the session sees one conversation, or one approval, alone. */
	get bound(): boolean {
		return Boolean(this.session?.conversation || this.session?.approval)
	}

	approval(id: string): Approval | undefined {
		return this.#approvals.get(id)
	}

	/** asking lists the open approvals that this person decides or waits for, oldest first. */
	asking(): Approval[] {
		return [...this.#approvals.values()].filter((approval) => approval.state === 'open').sort(order)
	}

	/** deciding lists those that wait for this person. */
	deciding(): Approval[] {
		return this.asking().filter((approval) => approval.can_decide && this.may('answer'))
	}

	/** approvalsOf lists the approvals of a call, oldest first. */
	approvalsOf(call: string): Approval[] {
		return [...this.#approvals.values()].filter((approval) => approval.call === call).sort(order)
	}

	question(id: string): Question | undefined {
		return this.#questions.get(id)
	}

	call(id: string): Call | undefined {
		return this.#calls.get(id)
	}

	server(id: string): Server | undefined {
		return this.servers.find((server) => server.id === id)
	}

	/** waiting lists the open questions of this person, oldest first. */
	waiting(): Question[] {
		return [...this.#questions.values()].filter(isOpen).sort((a, b) => order(a, b) || a.position - b.position)
	}

	/** callsOf lists the calls of a conversation, oldest first. */
	callsOf(conversation: string): Call[] {
		return [...this.#calls.values()].filter((call) => call.conversation === conversation).sort(order)
	}

	/** questionsOf lists the questions of a call in the order of its rounds. */
	questionsOf(call: string): Question[] {
		return [...this.#questions.values()].filter((question) => question.call === call)
			.sort((a, b) => a.round - b.round || a.position - b.position || order(a, b))
	}

	/**
	 * conversations lists those of this person, the latest first: what the server
	 * listed, and what its rows have told since.
	 */
	get conversations(): readonly Conversation[] {
		const all = new Map(this.#listed.map((one) => [one.id, { ...one, open_questions: 0 }]))
		for (const call of [...this.#calls.values()].sort(order)) {
			const one = all.get(call.conversation)
			// The oldest call names its conversation; the page may know later ones alone.
			if (!one) all.set(call.conversation, { id: call.conversation, title: call.title || call.name, updated_at: call.updated_at, open_questions: 0 })
			else if (Date.parse(call.updated_at) > Date.parse(one.updated_at)) one.updated_at = call.updated_at
		}
		for (const question of this.waiting()) {
			const one = all.get(question.conversation)
			if (one) one.open_questions++
		}
		return [...all.values()].sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at) || (a.id < b.id ? -1 : 1))
	}

	takeQuestion(question: Question): void {
		const known = this.#questions.get(question.id)
		if (known && known.version > question.version) return
		this.#questions.set(question.id, question)
		// A later round may ask an accepted question of mode url again. One that is
		// taken back stays in its round, and whoever took it back knows.
		if (isOpen(question) && (!known || known.round < question.round)) this.#tell('question', question.id, `${question.id}-${question.round}`, question.server, t('said.asks', { server: question.server, message: question.message.slice(0, 200) }))
		this.#emit({ kind: 'question', id: question.id })
	}

	takeApproval(approval: Approval): void {
		const known = this.#approvals.get(approval.id)
		if (known && known.version > approval.version) return
		// What was fetched whole stays: the arguments of an approval do not change.
		const whole = approval.arguments_size && known && !known.arguments_size ? { ...approval, arguments: known.arguments, arguments_size: 0 } : approval
		this.#approvals.set(approval.id, whole)
		if (!known && approval.state === 'open' && approval.can_decide) this.#tell('approval', approval.id, approval.id, approval.server, t('said.approval', { tool: toolCalled(approval.tool_title, approval.tool), server: approval.server }))
		this.#emit({ kind: 'approval', id: approval.id })
	}

	takeCall(call: Call): void {
		const known = this.#calls.get(call.id)
		if (known && known.version > call.version) return
		this.#calls.set(call.id, known ? filled(call, known) : call)
		for (const question of this.questionsOf(call.id)) {
			if (question.can_take_back && !mayTakeBack(question, call)) this.#questions.set(question.id, { ...question, can_take_back: false })
		}
		this.#emit({ kind: 'call', id: call.id })
		if (this.#watched.has(call.conversation)) {
			if (hasEnded(call) && known && !hasEnded(known)) announce(t('said.ended', { tool: toolCalled(call.title, call.name), server: call.server }))
		}
	}

	/** touch redraws a call whose view has news of its own. */
	touch(call: string): void {
		this.#emit({ kind: 'call', id: call })
	}

	// What is new is announced once, by name, wherever it is drawn.
	#tell(what: 'question' | 'approval', id: string, key: string, server: string, sentence: string): void {
		if (this.#announced.has(key)) return
		this.#announced.add(key)
		if (!this.#loaded) return
		announce(sentence)
		this.#emit({ kind: 'asks', what, id, key, server })
	}

	async loadQuestion(id: string): Promise<Question> {
		const question = await this.api.read<Question>(`/v1/questions/${encodeURIComponent(id)}`)
		this.takeQuestion(question)
		return question
	}

	async loadApproval(id: string): Promise<Approval> {
		const approval = await this.api.read<Approval>(`/v1/approvals/${encodeURIComponent(id)}`)
		this.takeApproval(approval)
		return approval
	}

	/** loadAsking reads the open approvals, and again those that are open here and not in the list. */
	async loadAsking(): Promise<void> {
		const { approvals } = await this.api.read<{ approvals: Approval[] | null }>('/v1/approvals?state=open')
		const still = new Set<string>()
		for (const approval of approvals ?? []) {
			still.add(approval.id)
			this.takeApproval(approval)
		}
		await Promise.all(this.asking().filter((approval) => !still.has(approval.id)).map((approval) => this.#recheck(approval)))
	}

	// Open here but not there: somebody decided, or it is not this person's to see any more.
	async #recheck(approval: Approval): Promise<void> {
		try {
			await this.loadApproval(approval.id)
		} catch (error) {
			if (error instanceof Problem && error.status === 404) this.takeApproval({ ...approval, state: 'withdrawn', can_decide: false })
		}
	}

	async loadRefusals(): Promise<void> {
		if (this.bound || !this.may('read')) return
		const { refusals } = await this.api.read<{ refusals: Refusal[] | null }>('/v1/refusals')
		this.refusals = refusals ?? []
		this.#emit({ kind: 'refusals' })
	}

	// A count of 0: it was cleared, maybe in another window.
	#takeRefusal(refusal: Refusal): void {
		const others = this.refusals.filter((one) => one.server !== refusal.server)
		this.refusals = refusal.count > 0 ? [refusal, ...others] : others
		this.#emit({ kind: 'refusals' })
	}

	async loadCall(id: string): Promise<Call> {
		const call = await this.api.read<Call>(`/v1/calls/${encodeURIComponent(id)}`)
		this.takeCall(call)
		return call
	}

	async loadServers(): Promise<void> {
		const { servers } = await this.api.read<{ servers: Server[] | null }>('/v1/servers')
		this.servers = servers ?? []
		this.#emit({ kind: 'servers' })
	}

	async loadTools(server: string): Promise<Tool[]> {
		const asked = this.api.read<{ tools: Tool[] | null }>(`/v1/servers/${encodeURIComponent(server)}/tools`)
		// Now it is known whether the server can be reached.
		const { tools } = await asked.finally(() => void this.loadServers().catch(() => undefined))
		this.#retitle(server, tools ?? [])
		return tools ?? []
	}

	// Rows that were drawn before their server's tools were listed have names only.
	#retitle(server: string, tools: readonly Tool[]): void {
		const titled = new Set(tools.filter((tool) => tool.title && tool.title !== tool.name).map((tool) => tool.name))
		const stale = [...this.#calls.values()].some((call) => call.server === server && call.title === call.name && titled.has(call.name))
		if (!stale && !this.#listed.some((one) => titled.has(one.title))) return
		void Promise.all([this.loadConversations(), ...[...this.#watched.keys()].map((id) => this.#loadConversation(id))]).catch(() => undefined)
	}

	async loadConversations(): Promise<void> {
		const { conversations } = await this.api.read<{ conversations: Conversation[] | null }>('/v1/conversations')
		this.#listed = conversations ?? []
		this.#emit({ kind: 'conversations' })
	}

	/** watch keeps a conversation loaded until the returned function is called. */
	watch(conversation: string): () => void {
		this.#watched.set(conversation, (this.#watched.get(conversation) ?? 0) + 1)
		if (this.#feed.running) void this.#loadConversation(conversation).catch(() => undefined)
		return () => {
			const left = (this.#watched.get(conversation) ?? 1) - 1
			if (left > 0) this.#watched.set(conversation, left)
			else this.#watched.delete(conversation)
		}
	}

	async #loadConversation(id: string): Promise<void> {
		const { calls, questions, approvals } = await this.api.read<{ calls: Call[] | null; questions: Question[] | null; approvals?: Approval[] | null }>(`/v1/conversations/${encodeURIComponent(id)}`)
		for (const question of questions ?? []) this.takeQuestion(question)
		for (const approval of approvals ?? []) this.takeApproval(approval)
		for (const call of calls ?? []) this.takeCall(call)
		this.#emit({ kind: 'snapshot' })
	}

	async #loadSnapshot(): Promise<void> {
		// First: it says what else there is to read.
		this.session = await this.api.read<Session>('/v1/session')
		this.#emit({ kind: 'session' })
		if (this.session.approval) {
			await this.loadApproval(this.session.approval).catch(notThere)
			this.#loaded = true
			this.#emit({ kind: 'snapshot' })
			return
		}
		const [open] = await Promise.all([
			this.api.read<{ questions: Question[] | null }>('/v1/questions?state=open'),
			this.loadAsking(),
			this.loadRefusals(),
			this.may('call') ? this.loadServers() : undefined,
			this.loadConversations(),
			...[...this.#watched.keys()].map((id) => this.#loadConversation(id).catch(notThere)),
		])
		const still = new Set<string>()
		for (const question of open.questions ?? []) {
			still.add(question.id)
			this.takeQuestion(question)
		}
		// Open here but not there: it ended while the stream was cut.
		const ended = this.waiting().filter((question) => !still.has(question.id))
		await Promise.all(ended.map((question) => this.loadQuestion(question.id).catch(() => undefined)))
		this.#loaded = true
		this.#emit({ kind: 'snapshot' })
	}

	/** start opens the stream and keeps it open. Starting twice is harmless. */
	start(): void {
		this.#feed.start()
	}

	/** stop closes the stream, for good unless started again. */
	stop(): void {
		this.#feed.stop()
	}

	#set(connection: Connection): void {
		if (this.connection === connection) return
		const before = this.connection
		this.connection = connection
		if (connection === 'lost') announce(t('connection.lost'))
		if (connection === 'live' && before === 'lost') {
			announce(t('connection.back'))
			// What was assigned to a group and decided meanwhile is no event.
			if (!this.bound) void this.loadAsking().catch(() => undefined)
		}
		this.#emit({ kind: 'connection' })
	}

	// What one request is told holds for all: nobody finds out by the stream, which may
	// be open for hours. A page that has a fresh token by now goes on.
	#heard(problem: Problem | null): void {
		const ended = problem && refusal(problem)
		if (ended && this.connection !== 'connecting') {
			this.#feed.stop()
			this.#set(ended)
		} else if (!problem && this.#loaded && this.connection === 'signed-out') this.#feed.start()
	}

	#take(event: StreamEvent): void {
		switch (event.type) {
			case 'question': this.takeQuestion(parseExact(event.data) as Question); break
			case 'approval': this.takeApproval(parseExact(event.data) as Approval); break
			case 'call': this.takeCall(parseExact(event.data) as Call); break
			case 'refusal': this.#takeRefusal(parseExact(event.data) as Refusal); break
		}
	}
}

/** mayTakeBack says whether a call, which may be ahead of the question's row, has not gone past the point where the answer can be taken back. */
export function mayTakeBack(question: Question, call: Call): boolean {
	if (call.state === 'sent') return call.held && question.held
	return question.round === call.round && (call.state === 'waiting' || call.state === 'ready' || call.state === 'claimed' || call.state === 'blocked')
}

// A conversation begins with its first call; and an embedded page may name one that is not its own.
function notThere(error: unknown): void {
	if (!(error instanceof Problem) || error.status !== 404) throw error
}

function order(a: { created_at: string; id: string }, b: { created_at: string; id: string }): number {
	return Date.parse(a.created_at) - Date.parse(b.created_at) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

const shared = new Map<string, Store>()

/** sharedStore is the page's one store for a Parley at base. The first caller's token source is used. */
export function sharedStore(base: string, token: TokenSource): Store {
	let store = shared.get(base)
	if (!store) {
		store = new Store(base, token)
		shared.set(base, store)
	}
	return store
}

// What was fetched whole stays: arguments and the end of a call do not change,
// and the rows that come with events leave out what is large.
function filled(call: Call, known: Call): Call {
	const kept = { ...call }
	if (call.arguments_size && known.arguments !== null) [kept.arguments, kept.arguments_size] = [known.arguments, 0]
	if (call.result_size && known.result !== null) [kept.result, kept.result_size] = [known.result, 0]
	if (call.error_size && known.error !== null) [kept.error, kept.error_size] = [known.error, 0]
	return kept
}
