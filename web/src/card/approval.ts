// <parley-approval>: the host's own request for permission, from open to its
// record. It looks different from a question on purpose: no server asked it, and
// what a server or a model wrote stands in it as quoted matter, never as the
// words of the request.
//
// Nothing here decides by itself: closing the page and Esc leave it open.

import { bdi, el, fill, focused, foreign, keepFocus, randomId, shadow, uid, type Child } from '../lib/dom'
import { Problem, sentence } from '../lib/api'
import { StoreElement } from '../lib/element'
import { scalar } from '../lib/json'
import { whenShown } from '../lib/shown'
import { exactly, visible } from '../lib/visible'
import { at, bytes, has, rich, t, toolCalled, when, type Key } from '../lib/text'
import type { Approval, Principal, Reach, Via } from '../lib/wire'
import { changeNode } from './change'
import { Presses } from './presses'
import base from '../lib/base.css'
import css from './approval.css'

const mostRows = 200 // of the arguments: a model may send very many
const reaches: readonly Reach[] = ['once', 'conversation', 'always']

export class ParleyApproval extends StoreElement {
	static readonly observedAttributes = ['approval-id']

	readonly #root: ShadowRoot
	#via: Via = 'chat'
	#leave: (() => void) | null = null
	#unwatch: () => void = () => undefined
	#watched = false
	#notice: { text: string; kind: 'error' | 'note' } | null = null
	#shape = ''
	#attempt = { payload: '', key: '' }
	readonly #headingId = uid('approval')
	readonly #presses: Presses

	constructor() {
		super()
		this.#root = shadow(this, base, css)
		this.#presses = new Presses(this.#root, (part) => part.startsWith('allow-'))
	}

	get approvalId(): string {
		return this.getAttribute('approval-id') ?? ''
	}

	/** The surface that decisions come from. */
	get via(): Via {
		return this.#via
	}

	set via(via: Via) {
		this.#via = via
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		const store = this.store
		this.#leave = this.subscribe((change) => {
			const { kind, id } = change
			const mine = kind === 'approval' && id === this.approvalId || kind === 'call' && id === this.#approval?.call
			if (mine || kind === 'snapshot' || kind === 'session' || kind === 'servers') this.#render()
		})
		store.start()
		if (!this.#approval && this.approvalId) void store.loadApproval(this.approvalId).catch((error: unknown) => this.#failed(error))
		this.#render()
	}

	disconnectedCallback(): void {
		this.#leave?.()
		this.#leave = null
		this.#unwatch()
		this.#watched = false
		this.#presses.drawn('')
	}

	attributeChangedCallback(): void {
		if (!this.isConnected) return
		this.disconnectedCallback()
		this.#notice = null
		this.#shape = ''
		fill(this.#root)
		this.connectedCallback()
	}

	get #approval(): Approval | undefined {
		return this.store.approval(this.approvalId)
	}

	get #path(): string {
		return `/v1/approvals/${encodeURIComponent(this.approvalId)}`
	}

	// Large arguments are not in the row of a list or an event; the approval by its id has them.
	#arguments(approval: Approval): { value: unknown; size: number } {
		return { value: approval.arguments, size: approval.arguments_size ?? 0 }
	}

	#render(): void {
		const approval = this.#approval
		if (!approval) {
			if (this.#shape === '') fill(this.#root, this.#notice ? el('section', { class: 'permission' }, this.#noticeNode()) : null)
			return
		}
		this.#watch(approval)
		this.#presses.drawn(approval.state === 'open' && this.#mayDecide(approval) ? approval.id : '')
		const args = this.#arguments(approval)
		const where = this.store.server(approval.server)
		const shape = JSON.stringify([{ ...approval, version: 0 }, args.size, this.#me, this.#mayDecide(approval), this.#notice, where?.domain, where?.address])
		if (shape === this.#shape) return
		this.#shape = shape
		const open = new Set([...this.#root.querySelectorAll<HTMLDetailsElement>('details[open]')].map((one) => one.id))
		const had = focused(this.#root) !== null
		const kept = keepFocus(this.#root, () => fill(this.#root, this.#card(approval, args)))
		for (const one of this.#root.querySelectorAll('details')) one.open = open.has(one.id)
		if (had && !kept) this.#focusHeading()
	}

	#watch(approval: Approval): void {
		if (approval.state !== 'open') return this.#unwatch()
		if (this.#watched) return
		this.#watched = true
		this.#unwatch = whenShown(this, (evidence) => void this.store.api.write(`${this.#path}/shown`, { via: this.via, body: { evidence }, keepalive: true }).catch(() => undefined))
	}

	get #me(): Principal | null {
		return this.store.session?.principal ?? null
	}

	#mayDecide(approval: Approval): boolean {
		return approval.can_decide && this.store.may('answer')
	}

	#focusHeading(): void {
		this.#root.getElementById(this.#headingId)?.focus()
	}

	// ---- what is asked

	#card(approval: Approval, args: { value: unknown; size: number }): HTMLElement {
		const open = approval.state === 'open'
		const tool = toolCalled(visible(approval.tool_title), visible(approval.tool))
		const { server } = approval
		const who = approval.actor === 'model' ? (approval.mine ? 'model' : 'model-of') : approval.mine ? 'you' : 'person'
		const key: Key = `approval.${open ? 'asks' : 'asked'}.${who}`
		return el('section', { class: `permission ${open ? 'open' : 'record'}`, 'aria-labelledby': this.#headingId, 'data-approval': approval.id, 'data-state': approval.state },
			el('header', null,
				el('p', { class: 'eyebrow' }, el('span', { class: 'shield', 'aria-hidden': 'true' }), t('approval.kind')),
				el('h3', { id: this.#headingId, tabIndex: -1, 'data-part': 'heading' }, rich(key, { tool, server, who: named(approval.asker) }))),
			this.#noticeNode(),
			open ? null : el('p', { class: 'outcome', 'data-part': 'outcome' }, this.#outcome(approval)),
			el('dl', { class: 'rows facts' },
				fact('approval.server', bdi(server), ' ', el('span', { class: 'quiet' }, this.#place(approval))),
				fact(approval.method === 'prompts/get' ? 'approval.prompt' : approval.method === 'resources/read' ? 'approval.resource' : 'approval.tool', bdi(visible(approval.tool_title || approval.tool)), approval.tool_title && approval.tool_title !== approval.tool ? [' ', el('code', { class: 'value', dir: 'ltr' }, visible(approval.tool))] : null),
				open ? fact('approval.why', approval.reason ? foreign('span', visible(approval.reason)) : t('approval.why.rule'), approval.rule ? el('span', { class: 'from' }, rich('approval.rule', { rule: visible(approval.rule) })) : null) : null),
			open ? changeNode(approval.change, approval.mine ? 'change.approval' : 'change.approval.other') : null,
			approval.unreadable ? null : this.#sent(approval, args),
			open && approval.description ? el('details', { id: `${this.#headingId}-about` }, el('summary', { id: `${this.#headingId}-about-more` }, rich('approval.about', { server })), foreign('p', visible(approval.description))) : null,
			open ? [this.#answered(approval), this.#decision(approval)] : this.#record(approval))
	}

	#place(approval: Approval): Child {
		if (approval.server_local) return t('approval.local')
		const where = this.store.server(approval.server)
		const domain = where?.domain || where?.address
		return domain ? ['(', bdi(domain), ')'] : null
	}

	#sent(approval: Approval, args: { value: unknown; size: number }): Child {
		const title = el('h4', { id: `${this.#headingId}-sent` }, rich('approval.sent', { server: approval.server }))
		if (args.size > 0) {
			return el('div', { class: 'sent', 'data-part': 'sent' }, title,
				el('p', { class: 'warning' }, t('approval.large', { size: bytes(args.size) })),
				this.#button('show-arguments', t('result.show'), () => void this.#busily(async () => { await this.store.loadApproval(approval.id) })))
		}
		const row = typeof args.value === 'object' && args.value !== null && !Array.isArray(args.value)
		const entries = row && scalar(args.value) === null ? Object.entries(args.value as object) : []
		const nothing = args.value === null || args.value === undefined || row && entries.length === 0
		return el('div', { class: 'sent', 'data-part': 'sent' }, title,
			nothing ? el('p', { class: 'quiet' }, t('call.no-arguments')) : el('dl', { class: 'rows' }, entries.slice(0, mostRows).map(([name, value]) => {
				const line = scalar(value)
				return el('div', null, el('dt', null, bdi(visible(name))),
					el('dd', null, line === null ? el('pre', { dir: 'ltr', tabIndex: 0 }, exactly(value)) : line === '' ? el('span', { class: 'quiet' }, t('choice.empty')) : foreign('span', visible(line))))
			})),
			entries.length > mostRows ? el('p', { class: 'warning' }, t('approval.more', { n: entries.length - mostRows })) : null,
			nothing ? null : this.#json(args.value))
	}

	#json(value: unknown): HTMLElement {
		const pre = el('pre', { dir: 'ltr', tabIndex: 0, 'data-part': 'json' })
		return el('details', { id: `${this.#headingId}-json`, on: { toggle: () => { if (pre.textContent === '') pre.textContent = exactly(value) } } },
			el('summary', { id: `${this.#headingId}-json-more` }, t('approval.json')), pre)
	}

	#answered(approval: Approval): Child {
		const { answered } = approval
		if (answered.length === 0) return null
		return el('div', { class: 'answered', 'data-part': 'answered' },
			el('h4', null, t(approval.mine ? 'approval.answered' : 'approval.answered.other', { n: answered.length })),
			el('ul', null, answered.map((one) => el('li', null, foreign('span', visible(one.message))))))
	}

	// ---- what can be done

	#decision(approval: Approval): Child {
		if (!this.#mayDecide(approval)) {
			return [
				el('p', { class: 'note', 'data-part': 'waits' }, approval.can_decide ? t('card.read-only') : this.#waits(approval)),
				this.#deadline(approval),
			]
		}
		const offered = reaches.filter((reach) => approval.offer.includes(reach))
		return [
			el('div', { class: 'actions', role: 'group', 'aria-label': t('approval.decide') },
				offered.map((reach, i) => this.#button(`allow-${reach}`, t(`approval.allow.${reach}`), () => void this.#decide(true, reach), i === 0 ? 'primary' : '')),
				this.#button('deny', t('approval.deny'), () => void this.#decide(false))),
			this.#deadline(approval),
			el('details', { class: 'help', id: `${this.#headingId}-help` }, el('summary', { id: `${this.#headingId}-help-more` }, t('help.title')), el('dl', { class: 'rows' },
				offered.map((reach) => el('div', null, el('dt', null, t(`approval.allow.${reach}`)), el('dd', null, rich(`approval.help.${reach}`, { server: approval.server })))),
				el('div', null, el('dt', null, t('approval.deny')), el('dd', null, rich('approval.help.deny', { server: approval.server }))))),
		]
	}

	#waits(approval: Approval): Child {
		const { assignee } = approval
		const who = assignee?.group ? rich('approval.waits.group', { group: visible(assignee.group) })
			: assignee?.principal ? rich('approval.waits.person', { who: named(assignee.principal) }) : rich('approval.waits.person', { who: named(approval.asker) })
		return [el('span', null, who), approval.other_person && approval.mine ? [' ', t('approval.waits.not-you')] : null]
	}

	#deadline(approval: Approval): Child {
		return approval.expires_at ? el('p', { class: 'hint' }, t('approval.until', { when: when(approval.expires_at) })) : null
	}

	#outcome(approval: Approval): Child {
		const { state, decided_by: by } = approval
		const moment = at(approval.closed_at)
		if (state === 'expired') return t('approval.expired', { at: moment })
		if (state === 'withdrawn' || state === 'open') return t('approval.withdrawn')
		const me = this.#me
		const own = by !== null && me !== null && by.subject === me.subject && by.issuer === me.issuer && by.tenant === me.tenant
		const via = own && approval.via && has(`via.${approval.via}`) ? t(`via.${approval.via}` as 'via.chat') : ''
		const what = state === 'denied' ? 'denied' : `allowed.${approval.scope ?? 'once'}` as const
		return rich(`approval.${what}${own ? '' : '.by'}` as Key, { who: by ? named(by) : '', at: moment, via })
	}

	#record(approval: Approval): Child {
		if (!approval.standing || !approval.mine || !this.store.may('answer')) return null
		return el('div', { class: 'actions' },
			this.#button('revoke', t('approval.revoke'), () => void this.#revoke()), el('p', { class: 'hint' }, t('approval.revoke.hint')))
	}

	#noticeNode(): Child {
		if (!this.#notice) return null
		const bad = this.#notice.kind === 'error'
		return el('p', { class: bad ? 'notice bad' : 'notice', role: bad ? 'alert' : 'note', 'data-part': 'notice' }, this.#notice.text)
	}

	#button(part: string, label: Child, press: () => void, className = ''): HTMLButtonElement {
		return el('button', {
			type: 'button', id: `${this.#headingId}-${part}`, class: className, 'data-action': part,
			'aria-disabled': this.#presses.ignored(part) ? 'true' : null,
			on: { click: () => { if (!this.#presses.ignored(part)) press() } },
		}, label)
	}

	// ---- talking to the server

	async #decide(allow: boolean, scope?: Reach): Promise<void> {
		const body = { allow, ...(scope ? { scope } : {}) }
		// The same decision sent again after a lost reply is the same request.
		const payload = JSON.stringify(body)
		if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) }
		await this.#busily(async () => {
			const approval = await this.store.api.write<Approval>(this.#path, { via: this.via, body, key: this.#attempt.key })
			this.#attempt = { payload: '', key: '' }
			this.store.takeApproval(approval)
			this.dispatchEvent(new CustomEvent('parley-decided', { bubbles: true, composed: true, detail: { id: approval.id, allow } }))
		})
	}

	async #revoke(): Promise<void> {
		await this.#busily(async () => {
			this.store.takeApproval(await this.store.api.write<Approval>(`${this.#path}/revoke`, { via: this.via }))
		})
	}

	async #busily(work: () => Promise<void>): Promise<void> {
		this.#notice = null
		this.#presses.busy = true
		try {
			await work()
		} catch (error) {
			this.#failed(error)
		} finally {
			this.#presses.busy = false
			this.#render()
			this.#focusHeading()
		}
	}

	#failed(error: unknown): void {
		const code = error instanceof Problem ? error.code : 'unreachable'
		this.dispatchEvent(new CustomEvent('parley-error', { bubbles: true, composed: true, detail: { id: this.approvalId, code } }))
		if (error instanceof Problem && error.status === 401) this.dispatchEvent(new CustomEvent('parley-token-expired', { bubbles: true, composed: true }))
		if (code === 'approval_closed' || code === 'not_decider') {
			this.#notice = { kind: 'note', text: code === 'not_decider' ? sentence(error) : t('approval.closed-elsewhere') }
			void this.store.loadApproval(this.approvalId).catch(() => undefined)
		} else this.#notice = { kind: 'error', text: sentence(error) }
		this.#render()
	}
}

function fact(key: Key, ...value: Child[]): Child {
	return el('div', null, el('dt', null, t(key)), el('dd', null, value))
}

// A person as the row names them: by the subject of a verified sign-in.
function named(principal: Principal): string {
	return visible(principal.subject)
}
