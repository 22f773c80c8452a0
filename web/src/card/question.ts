// <parley-question>: one question as a card, from open to its record.
//
// Nothing here answers by itself: closing the page, "Not now" and Esc leave
// the question open. The server decides whether an answer is right.
//
// MCP 2026-07-28 elicitation, "User Interaction Model" C1, C2, C3: every card says
// which server asks, has Decline and Cancel, and shows the exact values to review
// before they leave. MCP 2026-07-28 elicitation, "Security Considerations" C1, C2,
// C3, C4. MCP 2025-06-18 elicitation, "User Interaction Model" C5, C6, C7 and
// MCP 2025-06-18 elicitation, "Security Considerations" C6.

import { el, fill, focused, foreign, keepFocus, randomId, shadow, uid, type Child } from '../lib/dom'
import { Problem, sentence } from '../lib/api'
import { announce } from '../lib/announce'
import { dropDraft, loadDraft, saveDraft } from '../lib/draft'
import { StoreElement } from '../lib/element'
import { whenShown } from '../lib/shown'
import { mayTakeBack } from '../lib/store'
import { rich, t } from '../lib/text'
import { isOpen, type Action, type Check, type Input, type Question, type Via } from '../lib/wire'
import { Form, stopNotice } from '../form/form'
import { actionsHelp, brief, completed, count, deadline, heading, message, outcome, rows } from './parts'
import { remember, remembered } from './later'
import { Presses } from './presses'
import { address, canOpen, needsSecondLook, sha256, siteName } from './link'
import base from '../lib/base.css'
import form from '../form/form.css'
import css from './question.css'

type Phase = 'form' | 'review' | 'second-look'

export class ParleyQuestion extends StoreElement {
	static readonly observedAttributes = ['question-id']


	readonly #root: ShadowRoot
	#via: Via = 'chat'
	#leave: (() => void) | null = null
	#unwatch: () => void = () => undefined
	#watched = ''
	#phase: Phase = 'form'
	#later = false
	#form: Form | null = null
	#draft: Input | null = null
	#check: Check | null = null
	#checked: Input | null = null
	#notice: { text: string; kind: 'error' | 'note' } | null = null
	#shape = ''
	#asked = ''
	#closed = false
	#attempt = { payload: '', key: '' }
	#digest: { href: string; hex: string } | null = null
	#opened = false
	readonly #headingId = uid('question')
	readonly #presses: Presses

	constructor() {
		super()
		this.#root = shadow(this, base, form, css)
		this.#presses = new Presses(this.#root, (part) => part === 'send' || part === 'open' || part === 'finished',
			(part) => part === 'open' && this.#digest?.href !== this.#question?.url?.href)
	}

	get questionId(): string {
		return this.getAttribute('question-id') ?? ''
	}

	/** The surface that answers come from. */
	get via(): Via {
		return this.#via
	}

	set via(via: Via) {
		this.#via = via
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		const store = this.store
		this.#draft = loadDraft(this, this.questionId)
		this.#later = remembered(this.questionId)
		this.#leave = this.subscribe((change) => {
			if (change.kind === 'question' && change.id === this.questionId || change.kind === 'call' && change.id === this.#question?.call || change.kind === 'snapshot' || change.kind === 'session') this.#render()
		})
		store.start()
		if (!this.#question && this.questionId) void store.loadQuestion(this.questionId).catch((error: unknown) => this.#failed(error))
		this.#render()
	}

	disconnectedCallback(): void {
		this.#leave?.()
		this.#leave = null
		this.#unwatch()
		this.#watched = ''
		this.#presses.drawn('')
	}

	attributeChangedCallback(): void {
		if (!this.isConnected) return
		this.disconnectedCallback()
		this.#phase = 'form'
		this.#dropForm()
		this.#notice = null
		this.#asked = ''
		this.#closed = false
		this.#shape = ''
		this.connectedCallback()
	}

	get #question(): Question | undefined {
		return this.store.question(this.questionId)
	}

	get #canTakeBack(): boolean {
		const question = this.#question
		if (!question?.can_take_back || !this.#mayAnswer) return false
		const call = this.store.call(question.call)
		return !call || call.state !== 'claimed' && mayTakeBack(question, call)
	}

	// The person is on the site, and a server that holds its call waits for that.
	get #siteWaits(): boolean {
		const question = this.#question
		const call = question && this.store.call(question.call)
		return question?.mode === 'url' && question.state === 'accepted' && call?.state === 'sent' && canOpen(question)
	}

	#render(): void {
		const question = this.#question
		if (!question) {
			if (this.#shape === '') fill(this.#root, this.#notice ? el('section', { class: 'card' }, this.#noticeNode()) : null)
			return
		}
		// Open again: what was said of its end is over.
		if (this.#closed && isOpen(question)) this.#notice = null
		this.#closed = !isOpen(question)
		// A server may ask the same question again in other words: the person
		// sees the new ones before anything is sent.
		const asked = JSON.stringify([question.message, question.view, question.url])
		if (this.#asked !== '' && this.#asked !== asked && isOpen(question)) {
			this.#phase = 'form'
			this.#dropForm()
			this.#notice = { kind: 'note', text: t('card.changed', { server: question.server }) }
		}
		this.#asked = asked
		if (!isOpen(question)) {
			// Closed elsewhere while somebody was typing here.
			if (this.#form && this.#draft && !this.#presses.busy) this.#notice = { kind: 'note', text: t('card.closed-elsewhere') }
			this.#draft = null
			dropDraft(question.id)
			this.#phase = 'form'
			this.#dropForm()
		}
		this.#watch(question, asked)
		// Each step of the card may put a button that sends where another one was pressed.
		this.#presses.drawn(isOpen(question) && this.#mayAnswer && !this.#later ? `${this.#phase} ${question.state} ${asked}` : '')
		const shape = JSON.stringify([{ ...question, version: 0, seq: 0 }, this.#mayAnswer, this.#phase, this.#later, this.#notice, this.#siteWaits, this.#canTakeBack, this.#check, this.#opened])
		if (shape === this.#shape) return
		this.#shape = shape
		const had = focused(this.#root) !== null
		const kept = keepFocus(this.#root, () => fill(this.#root, this.#card(question)))
		if (had && !kept) this.#focusHeading()
	}

	// It is recorded that the card was in sight: once, and anew when the server asks in other words.
	#watch(question: Question, asked: string): void {
		if (!isOpen(question)) return this.#unwatch()
		if (this.#later || this.#watched === asked) return
		this.#unwatch()
		this.#watched = asked
		this.#unwatch = whenShown(this, (evidence) => void this.store.api.write(`${this.#path}/shown`, { via: this.via, body: { evidence }, keepalive: true }).catch(() => undefined))
	}

	get #mayAnswer(): boolean {
		return this.store.may('answer')
	}

	#focusHeading(): void {
		this.#root.getElementById(this.#headingId)?.focus()
	}

	#card(question: Question): HTMLElement {
		const open = isOpen(question)
		const kind = open ? 'open' : 'record'
		return el('section', { class: `card ${kind} asks-${question.mode}`, 'aria-labelledby': `${this.#headingId} ${this.#headingId}-brief`, 'data-question': question.id, 'data-state': question.state },
			el('header', null,
				el('p', { class: 'eyebrow' }, t(question.mode === 'url' ? 'card.kind.url' : 'card.kind.form'), count(question) ? [' · ', count(question)] : null),
				heading(question, this.#headingId),
				// Two cards of one server need two names.
				el('span', { hidden: true, id: `${this.#headingId}-brief`, 'aria-label': brief(question) })),
			open && this.#later ? this.#folded() : [
				message(question),
				question.note ? el('p', { class: 'note', 'data-part': 'note' }, foreign('span', question.note)) : null,
				this.#noticeNode(),
				open ? this.#body(question) : this.#record(question),
			])
	}

	#body(question: Question): Child {
		if (!this.#mayAnswer) return [question.mode === 'url' ? address(question) : null, el('p', { class: 'note', 'data-part': 'read-only' }, t('card.read-only')), deadline(question)]
		// The host says why, in the place of what cannot be read: nobody can answer it.
		if (question.unreadable) return [stopNotice(question.refused || t('form.no-view')), deadline(question)]
		return question.mode === 'url' ? this.#urlBody(question) : this.#formBody(question)
	}

	#noticeNode(): Child {
		if (!this.#notice) return null
		const bad = this.#notice.kind === 'error'
		return el('p', { class: bad ? 'notice bad' : 'notice', role: bad ? 'alert' : 'note', 'data-part': 'notice' }, this.#notice.text)
	}

	#folded(): Child {
		return el('div', { class: 'actions' }, el('p', { class: 'quiet' }, t('card.folded')),
			this.#button('unfold', t('action.unfold'), () => this.#setLater(false)))
	}

	// With its errors, of which the page's title tells.
	#dropForm(): void {
		this.#form?.clear()
		this.#form = null
	}

	#setLater(later: boolean): void {
		if (later) this.#form?.clear()
		this.#later = later
		remember(this.questionId, later)
		this.#render()
		this.#focusHeading()
	}

	#button(part: string, label: Child, press: () => void, className = ''): HTMLButtonElement {
		return el('button', {
			type: 'button', id: `${this.#headingId}-${part}`, class: className, 'data-action': part,
			'aria-disabled': this.#presses.ignored(part) ? 'true' : null,
			on: { click: () => { if (!this.#presses.ignored(part)) press() } },
		}, label)
	}

	#otherActions(question: Question): Child {
		return [
			el('div', { class: 'actions other' },
				this.#button('decline', t('action.decline'), () => void this.#answer('decline')),
				this.#button('cancel', t('action.cancel'), () => void this.#answer('cancel')),
				this.#button('later', t('action.later'), () => this.#setLater(true))),
			deadline(question),
			actionsHelp(question),
		]
	}

	// ---- form mode

	#formBody(question: Question): Child {
		if (question.refused || !question.view) {
			return [stopNotice(question.refused || t('form.no-view')), this.#otherActions(question)]
		}
		if (this.#phase === 'review' && this.#check) return [this.#review(question, this.#check), this.#otherActions(question)]
		this.#form ??= new Form({
			view: question.view, server: question.server, suggested: question.suggested ?? null, draft: this.#draft,
			changed: (input) => {
				this.#draft = input
				saveDraft(this, question.id, input)
			},
		})
		const form = this.#form
		const fields = question.view.fields?.length ?? 0
		const direct = fields <= 1 && !form.prefilled
		const part = direct ? 'send' : 'review'
		const label = fields === 0 ? rich('action.accept', { server: question.server }) : direct ? rich('action.send', { server: question.server }) : t('action.review')
		return [
			el('form', {
				noValidate: true, autocomplete: 'off', on: {
					submit: (event) => {
						event.preventDefault()
						if (!this.#presses.ignored(part)) void (direct ? this.#answer('accept', form.input()) : this.#toReview(form))
					},
					keydown: (event) => {
						if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) (event.currentTarget as HTMLFormElement).requestSubmit()
					},
				},
			},
			form.node,
			form.stopped ? stopNotice(form.stopped) : el('div', { class: 'actions' },
				el('button', { type: 'submit', id: `${this.#headingId}-send`, class: 'primary', 'data-action': part, 'aria-disabled': this.#presses.ignored(part) ? 'true' : null }, label))),
			this.#otherActions(question),
		]
	}

	async #toReview(form: Form): Promise<void> {
		const own = form.ownErrors()
		if (own.length > 0) return form.fail(own)
		const input = form.input()
		await this.#busily(async () => {
			this.#check = await this.store.api.write<Check>(`${this.#path}/check`, { via: this.via, body: { input } })
			this.#checked = input
			form.clear()
			this.#phase = 'review'
		})
		if (this.#phase === 'review') this.#root.getElementById(`${this.#headingId}-review`)?.focus()
	}

	#review(question: Question, check: Check): Child {
		const { server } = question
		const omitted = check.omitted ?? []
		return el('div', { class: 'review', 'data-part': 'review' },
			el('h4', { tabIndex: -1, id: `${this.#headingId}-review` }, rich('review.title', { server })),
			check.review?.length ? rows(check.review, server) : el('p', null, rich('review.nothing', { server })),
			omitted.length > 0 ? el('p', { class: 'hint' }, t('review.omitted', { list: omitted.map((one) => one.label || one.name).join(', ') })) : null,
			el('div', { class: 'actions' },
				this.#button('send', rich('action.send', { server }), () => void this.#answer('accept', this.#checked ?? {}), 'primary'),
				this.#button('change', t('action.change'), () => {
					this.#phase = 'form'
					this.#notice = null
					this.#render()
					this.#form?.controls[0]?.target().focus()
				})))
	}

	// ---- url mode

	#urlBody(question: Question): Child {
		const link = question.url
		const openable = canOpen(question)
		// Browsers hash only on pages that were themselves loaded securely, and
		// without the hash there is no consent to exactly this address.
		if (openable && !window.isSecureContext) return [address(question), el('p', { class: 'warning', 'data-part': 'stopped' }, t('link.insecure')), this.#otherActions(question)]
		if (!link || !openable) return [address(question), el('p', { 'data-part': 'stopped' }, t('link.never')), this.#otherActions(question)]
		if (this.#digest?.href !== link.href) {
			const href = link.href ?? ''
			this.#digest = null
			void sha256(href).then((hex) => {
				if (this.#question?.url?.href !== href) return // another address by now
				this.#digest = { href, hex }
				this.#presses.dim()
			})
		}
		const site = siteName(link)
		const open = this.#phase === 'second-look' || !needsSecondLook(question)
			? this.#button('open', rich(this.#phase === 'second-look' ? 'link.open-anyway' : 'link.open', { site }), () => this.#open(question), 'primary')
			: this.#button('open', rich('link.open', { site }), () => {
				this.#phase = 'second-look'
				this.#render()
				this.#root.getElementById(`${this.#headingId}-second`)?.focus()
			})
		const opened = question.state === 'opened'
		const copy = this.#button('copy', t('link.copy'), () => void this.#copy(link.href ?? ''))
		if (opened && this.#phase !== 'second-look') {
			open.classList.remove('primary')
			open.replaceChildren(document.createTextNode(t('link.again')))
			return [
				address(question),
				question.held && question.completed_at ? completed(question) : el('p', { class: 'note' }, rich('link.opened', { server: question.server, site })),
				el('div', { class: 'actions' },
					this.#button('finished', t('link.finished'), () => void this.#answer('accept'), 'primary'), open, copy),
				el('p', { class: 'hint' }, t('link.nothing-opened')),
				this.#otherActions(question),
			]
		}
		return [
			address(question),
			this.#phase === 'second-look' ? el('div', { class: 'second', 'data-part': 'second-look' },
				el('h4', { tabIndex: -1, id: `${this.#headingId}-second` }, t('link.sure')),
				el('p', null, rich('link.sure.text', { server: question.server, site }))) : null,
			el('div', { class: 'actions' }, open, copy,
				this.#phase === 'second-look' ? this.#button('back', t('link.back'), () => {
					this.#phase = 'form'
					this.#render()
					this.#focusHeading()
				}) : null),
			question.held && question.completed_at ? completed(question) : null,
			el('p', { class: 'hint' }, question.held ? [rich('link.held', { server: question.server }), ' '] : null, t('link.forward')),
			this.#opened ? el('p', { class: 'hint' }, t('link.nothing-opened')) : null,
			this.#otherActions(question),
		]
	}

	#open(question: Question): void {
		const href = question.url?.href
		const digest = this.#digest
		if (!href || digest?.href !== href) return
		// MCP 2026-07-28 elicitation, "Safe URL Handling" C2, C4: only on the person's
		// click, and in a window of the browser's that this page cannot look into.
		// In the click itself, or a browser takes it for a pop-up. It returns null
		// with noopener also when it worked, so the way by copy is always offered.
		window.open(href, '_blank', 'noopener,noreferrer')
		this.#opened = true
		this.#phase = 'form'
		void this.#busily(async () => {
			this.store.takeQuestion(await this.store.api.write<Question>(`${this.#path}/open`, { via: this.via, body: { url_sha256: digest.hex }, keepalive: true }))
			// A server that holds its call open wants to hear at once that the
			// person agreed to go (MCP 2025-11-25 elicitation, "User Interaction Model" C4).
			if (question.held) await this.#deliver('accept', undefined)
		}).then(() => { if (!isOpen(this.#question ?? question)) this.#focusHeading() })
	}

	async #copy(href: string): Promise<void> {
		try {
			await navigator.clipboard.writeText(href)
			announce(t('link.copied'))
			this.#notice = { kind: 'note', text: t('link.copied') }
		} catch {
			const node = this.#root.querySelector('[data-part="address"]')
			if (node) window.getSelection()?.selectAllChildren(node)
			this.#notice = { kind: 'note', text: t('link.copy-failed') }
		}
		this.#render()
	}

	// ---- the record

	#record(question: Question): Child {
		const review = question.answer?.review ?? []
		const waits = this.#siteWaits
		return [
			question.mode === 'url' && question.url ? address(question) : null,
			el('div', { class: 'outcome', 'data-part': 'outcome' }, el('p', null, outcome(question)), review.length > 0 ? rows(review, question.server) : null),
			question.completed_at && question.closed_by !== 'server' ? completed(question) : waits ? [
				el('p', { class: 'hint' }, rich('link.held.waits', { server: question.server }), ' ', t('link.nothing-opened')),
				el('div', { class: 'actions' }, this.#button('copy', t('link.copy'), () => void this.#copy(question.url?.href ?? ''))),
			] : null,
			this.#canTakeBack ? el('div', { class: 'actions' },
				this.#button('take-back', t('action.take-back'), () => void this.#takeBack()),
				el('p', { class: 'hint' }, rich('card.take-back', { server: question.server }))) : null,
		]
	}

	async #takeBack(): Promise<void> {
		await this.#busily(async () => {
			this.store.takeQuestion(await this.store.api.write<Question>(`${this.#path}/take-back`, { via: this.via }))
		})
		this.#focusHeading()
	}

	// ---- talking to the server

	get #path(): string {
		return `/v1/questions/${encodeURIComponent(this.questionId)}`
	}

	async #answer(action: Action, input?: Input): Promise<void> {
		const own = action === 'accept' && input ? this.#form?.ownErrors() ?? [] : []
		if (own.length > 0) return this.#form?.fail(own)
		await this.#busily(() => this.#deliver(action, input))
		if (this.#question && !isOpen(this.#question)) this.#focusHeading()
	}

	async #deliver(action: Action, input: Input | undefined): Promise<void> {
		const body = { action, ...(input ? { input } : {}) }
		// The same answer sent again after a lost reply is the same request.
		const payload = JSON.stringify(body)
		if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) }
		const question = await this.store.api.write<Question>(`${this.#path}/answer`, { via: this.via, body, key: this.#attempt.key })
		this.#attempt = { payload: '', key: '' }
		this.#draft = null
		dropDraft(question.id)
		this.store.takeQuestion(question)
		this.dispatchEvent(new CustomEvent('parley-answered', { bubbles: true, composed: true, detail: { id: question.id, action } }))
	}

	async #busily(work: () => Promise<void>): Promise<void> {
		this.#notice = null
		this.#render()
		this.#presses.busy = true
		let errors: Problem['errors'] = []
		try {
			await work()
		} catch (error) {
			errors = this.#failed(error)
		} finally {
			this.#presses.busy = false
			this.#render()
			if (errors.length > 0) this.#form?.fail(errors)
		}
	}

	#failed(error: unknown): Problem['errors'] {
		this.dispatchEvent(new CustomEvent('parley-error', { bubbles: true, composed: true, detail: { id: this.questionId, code: error instanceof Problem ? error.code : 'unreachable' } }))
		if (error instanceof Problem && error.status === 422 && error.errors.length > 0 && this.#form) {
			this.#phase = 'form'
			return error.errors
		}
		if (error instanceof Problem && error.code === 'question_closed') {
			this.#notice = { kind: 'note', text: t('card.closed-elsewhere') }
			dropDraft(this.questionId)
			if (error.question) this.store.takeQuestion(error.question)
			else void this.store.loadQuestion(this.questionId).catch(() => undefined)
			return []
		}
		if (error instanceof Problem && (error.code === 'url_changed' || error.code === 'too_late')) {
			this.#phase = 'form'
			void this.store.loadQuestion(this.questionId).catch(() => undefined)
		}
		if (error instanceof Problem && error.status === 401) {
			this.dispatchEvent(new CustomEvent('parley-token-expired', { bubbles: true, composed: true }))
		}
		this.#notice = { kind: 'error', text: sentence(error) }
		this.#render()
		return []
	}
}
