/** How the server reaches a webhook: by URL, or through a service. */

import { X509Certificate } from 'node:crypto'
import type { Check } from '#api/meta/check.ts'
import { portNum } from '#api/meta/formats.ts'
import { type GoUrl, parseGoUrl } from '#api/meta/go-url.ts'
import { dns1123Subdomain } from '#api/meta/names.ts'
import { errorMessage } from '#base/error-message.ts'
import { decodePem } from '#wire/pem.ts'

const form = '; desired format: https://host[/path]'

export function validateWebhookUrl(check: Check<string>): void {
  const text = check.value
  let url: GoUrl
  try {
    url = parseGoUrl(text)
  } catch (error) {
    check.required(`url must be a valid URL: ${errorMessage(error)}${form}`)
    return
  }
  if (url.scheme !== 'https') check.invalid(`'https' is the only allowed URL scheme${form}`, url.scheme)
  if (url.host === '') check.invalid(`host must be specified${form}`, url.host)
  if (url.user !== undefined) check.invalid('user information is not permitted in the URL', url.user)
  if (url.fragment !== '') check.invalid('fragments are not permitted in the URL', url.fragment)
  if (url.rawQuery !== '') check.invalid('query parameters are not permitted in the URL', url.rawQuery)
}

export type WebhookService = { name?: string; namespace?: string; path?: string; port?: number }

export function validateWebhookService(check: Check<WebhookService>): void {
  const { name, namespace, path, port = 0 } = check.value
  // Upstream's callers give name and namespace the wrong way round, so that the error for one names the other.
  if (!namespace) check.at('name').required()
  if (!name) check.at('namespace').required()
  const portErrors = portNum(port)
  if (portErrors.length > 0)
    check
      .at('port')
      .or(0)
      .invalid(`port is not valid: ${portErrors.join(', ')}`)
  if (path != null) validateUrlPath(check.at('path').present)
}

function validateUrlPath(check: Check<string>): void {
  const path = check.value
  if (path === '' || path === '/') return
  if (path === '//') {
    check.invalid('segment[0] may not be empty')
    return
  }
  if (!path.startsWith('/')) check.invalid("must start with a '/'")
  const segments = path.slice(1).replace(/\/$/, '').split('/')
  for (const [index, segment] of segments.entries()) {
    if (segment === '') check.invalid(`segment[${index}] may not be empty`)
    else for (const message of dns1123Subdomain(segment)) check.invalid(`segment[${index}]: ${message}`)
  }
}

/** Upstream looks at all of them for one that is good; of a megabyte that takes a fifth of a second. */
const mostBroken = 1000

/** Why nobody can be trusted by the base64 of a CA bundle; one good certificate is enough. */
export function caBundleError(base64: string): string | undefined {
  let rest = Buffer.from(base64, 'base64').toString('latin1')
  let firstError: string | undefined
  for (let broken = 0; rest.length > 0 && broken < mostBroken; broken++) {
    const found = decodePem(rest)
    if (found.block === undefined) {
      firstError ??= 'unable to parse bytes as PEM block'
      break
    }
    rest = found.rest
    const { type, headers, bytes } = found.block
    if (type !== 'CERTIFICATE' || Object.keys(headers).length > 0) continue
    try {
      new X509Certificate(bytes)
      return undefined
    } catch {
      firstError ??= 'failed to parse certificate: x509: malformed certificate'
    }
  }
  return `unable to load root certificates: ${firstError ?? 'no valid certificate authority data seen'}`
}
