/** Asks a registry for manifests and blobs, as the distribution specification says. */

import { createHash } from 'node:crypto'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpClient, HttpClientResponse } from '#base/http-client.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type Challenge, parseChallenge } from '#runtime/images/registry-challenge.ts'
import type { AuthConfig } from '#wire/cri/cri-types.ts'

export type RegistryEndpoint = { url: string; isMirror: boolean }

export type RegistryClientOptions = {
  http: HttpClient
  /** `team/app`, without the registry. */
  repository: string
  /** As the image names it. */
  registry: string
  /** Tried in their order. */
  endpoints: readonly RegistryEndpoint[]
  auth: AuthConfig | undefined
}

export type FetchedManifest = { bytes: Uint8Array; mediaType: string; digest: string }

export class RegistryError extends Error {
  override name = 'RegistryError'
  readonly status: number
  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]
const largestManifest = 8 << 20
const mostRedirects = 10
/** What comes with an answer that is none. */
const largestNotice = 1 << 20

export class RegistryClient {
  readonly #options: RegistryClientOptions
  /** By endpoint: what it wants to see. */
  readonly #authorizations = new Map<string, string>()

  constructor(options: RegistryClientOptions) {
    this.#options = options
  }

  /** By tag or digest; bytes that are not what a digest names are refused. */
  async manifest(reference: string): Promise<FetchedManifest> {
    const response = await this.#get(`manifests/${reference}`, { accept: manifestTypes.join(', ') })
    const bytes = Buffer.from(await response.text(largestManifest))
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const isNamed = reference.startsWith('sha256:')
    if (isNamed && digest !== reference) throw new RegistryError(`unexpected manifest digest: got ${digest}, expected ${reference}`, 200)
    const type = String(response.headers['content-type'] ?? '').split(';')[0] ?? ''
    const { mediaType = type } = JSON.parse(bytes.toString()) as { mediaType?: string }
    return { bytes, mediaType, digest }
  }

  /** From a position on; `isWhole` where the registry sends all of it nevertheless. */
  async blob(digest: string, from: number): Promise<{ body: AsyncIterable<Uint8Array>; isWhole: boolean }> {
    const response = await this.#get(`blobs/${digest}`, from > 0 ? { range: `bytes=${from}-` } : {})
    return { body: response.body, isWhole: response.status !== 206 }
  }

  async #get(path: string, headers: Record<string, string>): Promise<HttpClientResponse> {
    const failures: unknown[] = []
    for (const endpoint of this.#options.endpoints) {
      try {
        return await this.#getFrom(endpoint, path, headers)
      } catch (error) {
        failures.push(error)
      }
    }
    // Of mirrors that have nothing nobody needs to hear, unless they are all there is.
    throw failures.at(-1) ?? new Error('there is no endpoint for the registry')
  }

  async #getFrom({ url }: RegistryEndpoint, path: string, headers: Record<string, string>): Promise<HttpClientResponse> {
    const { repository, registry } = this.#options
    const target = `${url}/v2/${repository}/${path}`
    let { response, isOwn } = await this.#request(target, url, headers)
    // Only the registry itself may say where its password goes.
    if (response.status === 401 && isOwn) {
      const challenge = parseChallenge(String(response.headers['www-authenticate'] ?? ''))
      // The body is of no interest: it is read so that the connection can be used again.
      await response.text(largestNotice).catch(() => '')
      const authorization = await this.#authorize(challenge)
      if (authorization !== undefined) {
        this.#authorizations.set(url, authorization)
        ;({ response, isOwn } = await this.#request(target, url, headers))
      }
    }
    if (response.status === 200 || response.status === 206) return response
    // An answer without a readable body is described by its status.
    const said = await response.text(64 << 10).catch(() => '')
    const what = `${registry}/${repository}`
    if (response.status === 401 || response.status === 403) {
      const why =
        'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed'
      throw new RegistryError(`failed to resolve reference "${what}": ${why}`, response.status)
    }
    if (response.status === 404)
      throw new RegistryError(`failed to resolve reference "${what}": ${path.replace(/^\w+\//, '')}: not found`, 404)
    throw new RegistryError(
      `unexpected status from GET request to ${target}: ${response.status} ${said.slice(0, 200).trim()}`,
      response.status,
    )
  }

  /** `isOwn`: the answer is of the endpoint, and not of where it has sent us. */
  async #request(
    target: string,
    endpoint: string,
    headers: Record<string, string>,
  ): Promise<{ response: HttpClientResponse; isOwn: boolean }> {
    const authorization = this.#authorizations.get(endpoint)
    let url = target
    for (let redirects = 0; redirects <= mostRedirects; redirects++) {
      // Where we are sent to must not learn what the registry may know.
      const isOwn = new URL(url).origin === new URL(endpoint).origin
      const response = await this.#options.http
        .request({
          url,
          headers: {
            ...headers,
            'user-agent': 'typernetes',
            ...defined({ authorization: authorization && isOwn ? authorization : undefined }),
          },
        })
        .catch((error: unknown) => {
          throw new RegistryError(`failed to do request: Get "${url}": ${errorMessage(error)}`, 0)
        })
      const { location } = response.headers
      if (response.status < 300 || response.status >= 400 || location === undefined) return { response, isOwn }
      // The body is of no interest: it is read so that the connection can be used again.
      await response.text(largestNotice).catch(() => '')
      url = new URL(location, url).href
    }
    throw new RegistryError(`${target} leads from one place to the next without end`, 0)
  }

  async #authorize(challenge: Challenge | undefined): Promise<string | undefined> {
    const { auth } = this.#options
    if (challenge === undefined) return undefined
    const basic = basicOf(auth)
    if (challenge.scheme === 'basic') return basic === undefined ? undefined : `Basic ${basic}`
    if (auth?.registryToken) return `Bearer ${auth.registryToken}`
    return `Bearer ${await this.#token(challenge, basic)}`
  }

  async #token({ realm = '', service = '', scope }: Challenge, basic: string | undefined): Promise<string> {
    const { http, auth, repository } = this.#options
    const parameters = new URLSearchParams({ ...omitEmpty({ service }), scope: scope ?? `repository:${repository}:pull` })
    const refresh = auth?.identityToken
    if (refresh) {
      parameters.set('grant_type', 'refresh_token')
      parameters.set('refresh_token', refresh)
      parameters.set('client_id', 'typernetes')
    }
    const response = refresh
      ? await http.request({
          url: realm,
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: parameters.toString(),
        })
      : await http.request({ url: `${realm}?${parameters}`, headers: basic === undefined ? {} : { authorization: `Basic ${basic}` } })
    const text = await response.text(1 << 20)
    if (response.status !== 200) {
      throw new RegistryError(
        `failed to authorize: failed to fetch oauth token: unexpected status from GET request to ${realm}: ${response.status}`,
        response.status,
      )
    }
    const { token, access_token: access } = JSON.parse(text) as { token?: string; access_token?: string }
    return token ?? access ?? ''
  }
}

function basicOf(auth: AuthConfig | undefined): string | undefined {
  if (auth?.auth) return auth.auth
  return auth?.username ? Buffer.from(`${auth.username}:${auth.password ?? ''}`).toString('base64') : undefined
}
