// Permissions that hold: what a model may do without asking again, each with a
// way to end it.

import { el, fill, keepFocus, type Child } from '../lib/dom'
import { sentence } from '../lib/api'
import { announce } from '../lib/announce'
import type { Store } from '../lib/store'
import { rich, t, toolCalled, when } from '../lib/text'
import { visible } from '../lib/visible'
import type { Approval } from '../lib/wire'

export class Permissions {
	readonly node = el('div', { class: 'listing', 'data-part': 'permissions' })
	readonly #store: Store
	readonly #root: ShadowRoot
	readonly #show: (approval: Approval) => void
	#rows: readonly Approval[] | null = null
	#notice: { text: string; bad: boolean } | null = null
	#busy = false

	constructor(store: Store, root: ShadowRoot, show: (approval: Approval) => void) {
		this.#store = store
		this.#root = root
		this.#show = show
	}

	/** open reads the list and keeps it true until the returned function is called. */
	open(): () => void {
		this.#draw()
		void this.#load()
		return this.#store.subscribe(({ kind, id }) => {
			if (kind === 'snapshot') void this.#load()
			// One more, or one less.
			if (kind === 'approval') {
				const row = this.#store.approval(id)
				if (row?.mine && row.standing !== (this.#rows ?? []).some((one) => one.id === id)) void this.#load()
			}
		})
	}

	async #load(): Promise<void> {
		try {
			const { approvals } = await this.#store.api.read<{ approvals: Approval[] | null }>('/v1/approvals?state=standing')
			this.#rows = [...approvals ?? []].reverse() // the latest first
		} catch (error) {
			this.#notice = { text: sentence(error), bad: true }
		}
		this.#draw()
	}

	#draw(): void {
		const rows = this.#rows
		keepFocus(this.#root, () => fill(this.node,
			el('h1', { tabIndex: -1, id: 'permissions-title' }, t('permissions.title')),
			el('p', { class: 'quiet' }, t('permissions.about')),
			this.#notice ? el('p', { class: this.#notice.bad ? 'notice bad' : 'notice', role: this.#notice.bad ? 'alert' : 'note' }, this.#notice.text) : null,
			rows === null ? this.#notice ? null : el('p', { class: 'quiet' }, t('loading'))
				: rows.length === 0 ? el('p', null, t('permissions.none'))
					: el('ul', { role: 'list', class: 'entries', 'aria-labelledby': 'permissions-title' }, rows.map((row) => this.#row(row)))))
	}

	#row(row: Approval): Child {
		const tool = toolCalled(visible(row.tool_title), visible(row.tool))
		const { server } = row
		return el('li', { 'data-standing': row.id },
			el('h2', null, rich('permissions.tool', { tool, server })),
			el('p', { class: 'quiet' }, t(row.scope === 'conversation' ? 'permissions.conversation' : 'permissions.always', { at: when(row.closed_at) })),
			el('div', { class: 'actions' },
				this.#store.may('answer') ? el('button', { type: 'button', id: `revoke-${row.id}`, 'data-action': 'revoke', 'aria-label': t('permissions.revoke.of', { tool, server }), on: { click: () => void this.#revoke(row, tool) } }, t('permissions.revoke')) : null,
				row.scope === 'conversation' ? el('button', { type: 'button', class: 'link', id: `show-${row.id}`, on: { click: () => this.#show(row) } }, t('permissions.show')) : null))
	}

	async #revoke(row: Approval, tool: string): Promise<void> {
		if (this.#busy) return
		this.#busy = true
		try {
			this.#store.takeApproval(await this.#store.api.write<Approval>(`/v1/approvals/${encodeURIComponent(row.id)}/revoke`, { via: 'inbox' }))
			const text = t('permissions.revoked', { tool, server: row.server })
			this.#notice = { text, bad: false }
			announce(text)
		} catch (error) {
			this.#notice = { text: sentence(error), bad: true }
		}
		this.#busy = false
		await this.#load()
		this.#root.getElementById('permissions-title')?.focus()
	}
}
