// A call in the conversation: what the person did, what is going on, the
// questions of its rounds, and what came of it.

import { bdi, el, fill, foreign, randomId, uid, type Child } from '../lib/dom'
import { Problem, sentence } from '../lib/api'
import { pretty, scalar } from '../lib/json'
import type { Store } from '../lib/store'
import { bytes, has, rich, t, toolCalled, when, type Key } from '../lib/text'
import { hasEnded, isOpen, type Call, type CallState, type Resolve, type Via } from '../lib/wire'
import type { ParleyApproval } from '../card/approval'
import { Presses } from '../card/presses'
import type { ParleyQuestion } from '../card/question'
import { SignInCard } from '../card/signin'
import { details, isRow, mostBlocks, result } from './result'

// How a state looks; the words carry the meaning.
const tones: { readonly [S in CallState]: 'busy' | 'asks' | 'good' | 'bad' | 'quiet' } = {
	new: 'busy', approving: 'asks', ready: 'busy', claimed: 'busy', sent: 'busy', waiting: 'asks', blocked: 'bad', uncertain: 'bad',
	done: 'good', failed: 'bad', denied: 'bad', stopped: 'quiet', expired: 'quiet', interrupted: 'bad', lapsed: 'bad',
}

export type CallHost = {
	store: Store
	via: Via
	/** Show another call of this conversation. */
	show: (call: string) => void
}

export class CallView {
	readonly node: HTMLElement
	readonly #host: CallHost
	readonly #id: string
	readonly #action = el('div', { class: 'did' })
	readonly #progress = el('div', { class: 'progress' })
	readonly #questions = el('div', { class: 'questions' })
	readonly #outcome = el('div', { class: 'came', tabIndex: -1 })
	readonly #cards = new Map<string, ParleyApproval | ParleyQuestion>()
	readonly #headingId = uid('call')
	#signIn: SignInCard | null = null
	#shape = ''
	#resultShape = ''
	readonly #presses: Presses
	#notice = ''
	#keys = new Map<string, string>()

	constructor(id: string, host: CallHost) {
		this.#id = id
		this.#host = host
		this.node = el('article', { class: 'call', 'aria-labelledby': this.#headingId, 'data-call': id }, this.#action, this.#questions, this.#outcome, this.#progress)
		this.#presses = new Presses(this.node, (part) => part === 'send-again' || part === 'it-happened' || part === 'run-again')
	}

	/** update draws what changed. It runs inside the caller's keepFocus. */
	update(): void {
		const call = this.#host.store.call(this.#id)
		if (!call) return
		const { store } = this.#host
		const questions = store.questionsOf(this.#id)
		const approvals = store.approvalsOf(this.#id)
		const wanted = questions.map((question) => this.#card('question', question.id))
		// A permission stands where it was asked for: at the start, or between two rounds.
		for (const approval of [...approvals].reverse()) {
			const later = questions.findIndex((question) => Date.parse(question.created_at) > Date.parse(approval.created_at))
			wanted.splice(later < 0 ? questions.length : later, 0, this.#card('approval', approval.id))
		}
		wanted.forEach((card, i) => {
			// Moving an element takes the focus out of it, so only move what is out of place.
			if (this.#questions.children[i] !== card) this.#questions.insertBefore(card, this.#questions.children[i] ?? null)
		})
		const model = call.actor === 'model'
		const asks = approvals.some((approval) => approval.state === 'open')
		const open = questions.filter(isOpen)
		// What may act once more can take the place of Stop at any time.
		const can = this.#can(call)
		this.#presses.drawn(can.resolve || can.run_again ? JSON.stringify([call.state, call.reason, can, open.length > 0]) : '')
		const shape = JSON.stringify([{ ...call, version: 0, seq: 0, result: null, updated_at: '' }, open.length, questions.map((question) => question.held && isOpen(question)), model, asks, store.session?.scopes, this.#notice, call.reason === 'sign_in' && store.servers.map((server) => server.can_sign_in)])
		if (shape !== this.#shape) {
			this.#shape = shape
			this.node.dataset['state'] = call.state
			fill(this.#action, this.#did(call, model, asks))
			fill(this.#progress, this.#state(call, open.length))
		}
		const resultShape = JSON.stringify([call.result, call.error, call.result_size, call.error_size])
		if (resultShape !== this.#resultShape) {
			this.#resultShape = resultShape
			fill(this.#outcome, this.#result(call))
		}
	}

	#card(kind: 'question' | 'approval', id: string): ParleyApproval | ParleyQuestion {
		let card = this.#cards.get(id)
		if (!card) {
			card = document.createElement(`parley-${kind}`) as ParleyApproval | ParleyQuestion
			card.store = this.#host.store
			card.via = this.#host.via
			card.setAttribute(`${kind}-id`, id)
			this.#cards.set(id, card)
		}
		return card
	}

	// What the session may not do is not offered.
	#can(call: Call): NonNullable<Call['can']> {
		const can = call.can ?? {}
		const { store } = this.#host
		const answer = store.may('answer')
		return { stop: answer && can.stop === true, resolve: answer && can.resolve === true, decline_rest: answer && can.decline_rest === true, run_again: store.may('call') && can.run_again === true }
	}

	// What the person or a model did: the tool and the arguments. While permission is
	// asked for, the request for it shows what would be sent.
	#did(call: Call, model: boolean, asks: boolean): Child {
		const title = call.title || call.name
		const entries = isRow(call.arguments) ? Object.entries(call.arguments) : []
		const where = call.server_local ? t('who.local') : ''
		return el('div', { class: 'bubble' },
			el('h2', { id: this.#headingId, tabIndex: -1 }, rich(model ? 'call.model' : where ? 'call.ran.at' : 'call.ran', { tool: toolCalled(call.title, call.name), server: call.server, place: where })),
			call.replaces ? el('p', { class: 'quiet' }, t('call.replaces'), ' ', el('button', { type: 'button', class: 'link', on: { click: () => this.#host.show(call.replaces ?? '') } }, t('call.replaces.show'))) : null,
			asks ? null : call.arguments_size ? this.#large('show-arguments', 'call.large-arguments', call.arguments_size) : entries.length === 0 ? el('p', { class: 'quiet' }, t('call.no-arguments')) : el('dl', { class: 'rows' }, entries.slice(0, mostBlocks).map(([name, value]) => {
				const line = scalar(value)
				return el('div', null, el('dt', null, bdi(name)), el('dd', null, line === null ? el('pre', { dir: 'ltr' }, pretty(value)) : foreign('span', line)))
			})),
			!asks && entries.length > mostBlocks ? el('p', { class: 'quiet' }, t('call.more-arguments', { n: entries.length - mostBlocks })) : null,
			el('p', { class: 'time' }, el('time', { dateTime: call.created_at }, when(call.created_at)), title === call.name ? null : [' · ', el('code', { class: 'value', dir: 'ltr' }, call.name)]))
	}

	#state(call: Call, open: number): Child {
		const can = this.#can(call)
		const buttons: Child[] = []
		if (can.decline_rest && open > 0) buttons.push(this.#button('decline-rest', t('call.decline-rest'), () => this.#post('decline-rest')))
		if (can.stop && !can.resolve) buttons.push(this.#button('stop', t('call.stop'), () => this.#post('stop')))
		if (can.run_again && call.state !== 'uncertain') buttons.push(this.#button('run-again', t('call.run-again'), () => this.#runAgain(), hasEnded(call) && call.state !== 'done' ? 'primary' : ''))
		const wrong = call.state === 'done' && isRow(call.result) && call.result['isError'] === true
		const tone = open > 0 && !hasEnded(call) ? 'asks' : wrong ? 'wrong' : tones[call.state] ?? 'quiet'
		return el('div', { class: `state ${tone}`, 'data-part': 'state', 'data-state': call.state },
			el('p', { class: 'title' }, el('span', { class: 'mark', 'aria-hidden': 'true' }), el('strong', null, wrong ? t('state.done.wrong') : this.#title(call, open))),
			// The answer above says more than "it has answered".
			call.state === 'done' && call.result ? null : el('p', null, foreign('span', this.#sentence(call, open))),
			can.resolve ? this.#resolve(call) : null,
			this.#wantsSignIn(call),
			this.#notice ? el('p', { class: 'notice bad', role: 'alert' }, this.#notice) : null,
			buttons.length > 0 ? el('div', { class: 'actions' }, buttons) : null,
			can.run_again && hasEnded(call) && call.state !== 'done' ? el('p', { class: 'hint' }, t('call.run-again.hint')) : null)
	}

	// A card of the host's own. Pages of products have nobody who signs in to servers.
	#wantsSignIn(call: Call): Child {
		const can = this.#host.store.servers.some((server) => server.id === call.server && server.can_sign_in)
		if (call.state !== 'blocked' || call.reason !== 'sign_in' || !can) this.#signIn = null
		else this.#signIn ??= new SignInCard(this.#host.store, call.server, this.#host.via)
		return this.#signIn?.node
	}

	#title(call: Call, open: number): Child {
		if ((call.state === 'waiting' || call.state === 'sent') && open > 0) return rich('state.asks', { server: call.server, n: open })
		if (call.state === 'waiting') return t('state.waiting.rest')
		const key = `state.${call.state}`
		return has(key) ? rich(key, { server: call.server }) : call.state
	}

	// The server's sentence tells more than the state, except while the page has
	// something to say about its own questions.
	#sentence(call: Call, open: number): string {
		if (call.text && open === 0) return call.text
		const key = open > 0 && call.held ? 'why.held' : `why.${call.state}`
		return has(key) ? t(key, { server: call.server, n: open }) : ''
	}

	// An uncertain call is for a person to judge: each way says what it means.
	#resolve(call: Call): Child {
		const way = (how: Resolve, key: Key, hint: Key): Child => el('div', { class: 'way' },
			this.#button(how.replaceAll('_', '-'), t(key), () => this.#post('resolve', { how })),
			el('p', { class: 'hint' }, rich(hint, { server: call.server, tool: toolCalled(call.title, call.name) })))
		return el('div', { class: 'ways', role: 'group', 'aria-label': t('resolve.title') },
			// To send again is to call.
			!this.#host.store.may('call') ? null : way('send_again', 'resolve.send-again', call.held ? 'resolve.send-again.held' : 'resolve.send-again.hint'),
			way('it_happened', 'resolve.it-happened', 'resolve.it-happened.hint'),
			way('give_up', 'resolve.give-up', 'resolve.give-up.hint'))
	}

	// What is too large for the rows that come by themselves is fetched when it is wanted.
	#large(part: string, key: Key, size: number): Child {
		return el('div', { 'data-part': 'large' },
			el('p', { class: 'quiet' }, t(key, { size: bytes(size) })),
			this.#button(part, t('result.show'), async () => {
				await this.#host.store.loadCall(this.#id)
				this.#outcome.focus({ preventScroll: true }) // the button is gone
			}))
	}

	#result(call: Call): Child {
		if (call.error_size) {
			return el('div', { class: 'bubble answer' },
				el('p', { class: 'verdict bad' }, rich('result.protocol', { server: call.server })),
				this.#large('show-result', 'result.large', call.error_size))
		}
		if (call.result_size) {
			return el('section', { class: 'bubble answer', 'data-part': 'result', 'aria-label': t('result.title', { server: call.server }) },
				el('p', { class: 'eyebrow' }, rich('result.title', { server: call.server })), this.#large('show-result', 'result.large', call.result_size))
		}
		if (call.error) {
			return el('div', { class: 'bubble answer' },
				el('p', { class: 'verdict bad' }, rich('result.protocol', { server: call.server })),
				foreign('p', String(call.error.message ?? '')),
				el('p', { class: 'quiet' }, t('result.code', { code: String(call.error.code ?? '?') })))
		}
		if (call.result === null || call.result === undefined) return null
		const shown = result(call.result, call.server)
		if (shown.length === 0) return el('div', { class: 'bubble answer' }, details('result.raw', call.result, true))
		return el('section', { class: 'bubble answer', 'data-part': 'result', 'aria-label': t('result.title', { server: call.server }) },
			el('p', { class: 'eyebrow' }, rich('result.title', { server: call.server })), shown)
	}

	#button(part: string, label: Child, press: () => Promise<void>, className = ''): HTMLButtonElement {
		return el('button', {
			type: 'button', id: `${this.#headingId}-${part}`, class: className, 'data-action': part, 'aria-disabled': this.#presses.ignored(part) ? 'true' : null,
			on: { click: () => { if (!this.#presses.ignored(part)) void this.#busily(press) } },
		}, label)
	}

	async #busily(work: () => Promise<void>): Promise<void> {
		this.#presses.busy = true
		this.#notice = ''
		try {
			await work()
		} catch (error) {
			this.#notice = sentence(error)
			if (error instanceof Problem) void this.#host.store.loadCall(this.#id).catch(() => undefined)
		} finally {
			this.#presses.busy = false
			this.#host.store.touch(this.#id)
		}
	}

	// The same press sent again after a lost reply is the same request.
	#key(what: string): string {
		const key = this.#keys.get(what) ?? randomId(16)
		this.#keys.set(what, key)
		return key
	}

	async #post(what: string, body: { how?: Resolve } = {}): Promise<void> {
		const name = what + (body.how ?? '')
		const answer = await this.#host.store.api.write<Partial<Call>>(`/v1/calls/${encodeURIComponent(this.#id)}/${what}`, { via: this.#host.via, body, key: this.#key(name) })
		this.#keys.delete(name)
		if (answer.id) this.#host.store.takeCall(answer as Call)
		else await this.#host.store.loadCall(this.#id)
	}

	async #runAgain(): Promise<void> {
		const call = await this.#host.store.api.write<Call>(`/v1/calls/${encodeURIComponent(this.#id)}/run-again`, { via: this.#host.via, key: this.#key('run-again') })
		this.#keys.delete('run-again')
		this.#host.store.takeCall(call)
		this.#host.show(call.id)
	}

	/** newest is what a person may want to see next, and a name for it that changes with it; null while nothing is new. */
	newest(): { name: string; node: HTMLElement } | null {
		const call = this.#host.store.call(this.#id)
		if (!call) return null
		const open = this.#host.store.questionsOf(this.#id).filter(isOpen).at(-1)
		const card = open && this.#cards.get(open.id)
		if (card) return { name: `${open.id} ${open.mode === 'url' ? open.url?.href ?? '' : ''}`, node: card }
		const asking = this.#host.store.approvalsOf(this.#id).findLast((approval) => approval.state === 'open')
		const permission = asking && this.#cards.get(asking.id)
		if (permission) return { name: asking.id, node: permission }
		if (hasEnded(call)) return { name: `${call.id} ${call.state}`, node: this.#outcome.childElementCount > 0 ? this.#outcome : this.#progress }
		if (call.state === 'uncertain' || call.state === 'blocked') return { name: `${call.id} ${call.state} ${call.reason}`, node: this.#progress }
		return null
	}

	focus(): void {
		const heading = this.node.querySelector<HTMLElement>('h2')
		heading?.focus({ preventScroll: true })
		this.node.scrollIntoView({ block: 'start' })
	}
}
