// The card of the host's own for a call that waits for a sign-in to its server. It is no
// question: no server asked it. The address is asked for by a press, shown with its
// domain, and opened by a second press.

import { el, fill, uid, type Child } from '../lib/dom'
import { sentence, type API } from '../lib/api'
import { rich, t } from '../lib/text'
import type { SignInPage, Via } from '../lib/wire'
import { agrees, siteName } from './link'

export class SignInCard {
	readonly node = el('div', { class: 'actions', 'data-part': 'sign-in' })
	readonly #host: { readonly api: API }
	readonly #server: string
	readonly #via: Via
	readonly #id = uid('sign-in')
	#page: SignInPage | null = null
	#busy = false
	#notice = ''

	constructor(host: { readonly api: API }, server: string, via: Via) {
		this.#host = host
		this.#server = server
		this.#via = via
		this.#draw()
	}

	#draw(): void {
		fill(this.node, this.#notice ? el('p', { class: 'notice bad', role: 'alert' }, this.#notice) : null, this.#page ? this.#leave(this.#page) : el('button', {
			type: 'button', id: this.#id, class: 'primary', 'data-action': 'sign-in', 'aria-disabled': this.#busy ? 'true' : null, on: { click: () => void this.#begin() },
		}, rich('sign-in.button', { server: this.#server })))
	}

	#leave(page: SignInPage): Child {
		const site = siteName(page.link)
		return [
			el('p', null, rich('sign-in.where', { server: this.#server, site })),
			page.scopes.length > 0 ? el('p', { class: 'quiet' }, rich('sign-in.scopes', { scopes: page.scopes.join(', ') })) : null,
			(page.link.findings ?? []).filter((finding) => finding.verdict === 'warn').map((finding) => el('p', { class: 'warning' }, el('strong', null, t('link.warn')), ' ', finding.text)),
			el('a', { id: this.#id, class: 'button primary', href: page.url, target: '_blank', rel: 'noopener noreferrer', 'data-action': 'leave', on: { click: () => this.#left() } }, rich('sign-in.go', { site })),
		]
	}

	// The address is good for one sign-in.
	#left(): void {
		setTimeout(() => {
			this.#page = null
			this.#draw()
		})
	}

	async #begin(): Promise<void> {
		if (this.#busy) return
		this.#busy = true
		this.#notice = ''
		this.#draw()
		try {
			const page = await this.#host.api.write<SignInPage>(`/v1/servers/${encodeURIComponent(this.#server)}/sign-in`, { via: this.#via })
			if (page.link.href === page.url && agrees(page.link)) this.#page = page
			else this.#notice = t('link.differs')
		} catch (error) {
			this.#notice = sentence(error)
		} finally {
			this.#busy = false
			this.#draw()
			this.node.querySelector<HTMLElement>(`#${this.#id}`)?.focus()
		}
	}
}
