/** Whom to be for a registry: what secrets and files of Docker's form say. */
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import type { AuthConfig } from '#wire/cri/cri-types.ts'

export type RegistryEntry = {
  /** Host and maybe path that an image's name must begin with; the host may have `*` in its parts. */
  place: string
  auth: AuthConfig
  /** The secret it is from; absent for the node's own. */
  source?: { uid: string; namespace: string; name: string }
  /** The service account that a program gave it for. */
  account?: { uid: string; namespace: string; name: string }
}

type DockerEntry = { username?: string; password?: string; auth?: string; identitytoken?: string; registrytoken?: string }

/** Throws where a secret's text is no JSON. Secrets of other types say nothing. */
export function entriesOfSecret({ type, data = {}, metadata = {} }: V1Secret): RegistryEntry[] {
  const { uid = '', namespace = '', name = '' } = metadata
  return entriesOfType(type, data).map((entry) => ({ ...entry, source: { uid, namespace, name } }))
}

function entriesOfType(type: string | undefined, data: Record<string, unknown>): RegistryEntry[] {
  if (type === 'kubernetes.io/dockerconfigjson') return entriesOfDockerConfig(textIn(data, '.dockerconfigjson'))
  if (type === 'kubernetes.io/dockercfg') return entriesOf(JSON.parse(textIn(data, '.dockercfg') || '{}') as Record<string, DockerEntry>)
  return []
}

/** The text of a `config.json`. */
export function entriesOfDockerConfig(text: string): RegistryEntry[] {
  const { auths = {} } = JSON.parse(text || '{}') as { auths?: Record<string, DockerEntry> }
  return entriesOf(auths)
}

function textIn(data: Record<string, unknown>, key: string): string {
  const value = data[key]
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString() : ''
}

function entriesOf(auths: Record<string, DockerEntry>): RegistryEntry[] {
  return Object.entries(auths).flatMap(([location, entry]) => {
    const place = placeOf(location)
    return place === undefined ? [] : { place, auth: authOf(entry) }
  })
}

/** `https://index.docker.io/v1/` and `index.docker.io` are one place. */
function placeOf(location: string): string | undefined {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/]*)(.*)$/.exec(location) ?? []
  if (host === '') return undefined
  const effective = path.replace(/^\/v[12](?=\/)/, '')
  return effective === '' || effective === '/' ? host : host + effective
}

function authOf({ username = '', password = '', auth = '', identitytoken = '', registrytoken = '' }: DockerEntry): AuthConfig {
  const [, user = username, word = password] = /^([^:]*):([\s\S]*)$/.exec(Buffer.from(auth, 'base64').toString()) ?? []
  return { username: user, password: word, identityToken: identitytoken, registryToken: registrytoken }
}

const dockerHub = 'index.docker.io'

/** Those that may be good for the image's repository, the most particular first. */
export function credentialsFor(repository: string, entries: readonly RegistryEntry[]): RegistryEntry[] {
  const sorted = entries.toSorted((one, other) => (one.place < other.place ? 1 : one.place > other.place ? -1 : 0))
  const matching = sorted.filter(({ place }) => matchesPlace(place, repository))
  if (matching.length > 0) return matching
  const isOnHub = repository.startsWith('docker.io/') || repository.startsWith(`${dockerHub}/`)
  return isOnHub ? sorted.filter(({ place }) => place === dockerHub) : []
}

/** Whether they may be among those that `credentialsFor` chooses: most of a secret with very many entries need not be kept. */
export const mayBeFor = (repository: string, { place }: RegistryEntry): boolean => place === dockerHub || matchesPlace(place, repository)

/** Whether credentials for a place are to be tried for a repository. */
export function matchesPlace(place: string, repository: string): boolean {
  const [host = '', path = ''] = cut(place)
  const [targetHost = '', targetPath = ''] = cut(repository)
  const [name = '', port] = host.split(':')
  const [targetName = '', targetPort] = targetHost.split(':')
  if (port !== targetPort || !targetPath.startsWith(path)) return false
  const parts = name.split('.')
  const targetParts = targetName.split('.')
  return parts.length === targetParts.length && parts.every((part, index) => globMatches(part, targetParts[index] ?? ''))
}

function cut(place: string): [host: string, path: string] {
  const slash = place.indexOf('/')
  return slash === -1 ? [place, ''] : [place.slice(0, slash), place.slice(slash)]
}

/** `*` stands for any text, `?` for one character. Takes no longer than both are long, times each other: no pattern makes it try all ways. */
function globMatches(glob: string, text: string): boolean {
  let at = 0
  let star = -1
  let retryFrom = 0
  for (let index = 0; index < text.length; ) {
    if (glob[at] === '*') {
      star = at++
      retryFrom = index
    } else if (at < glob.length && (glob[at] === '?' || glob[at] === text[index])) {
      at++
      index++
    } else if (star >= 0) {
      // The last star takes one more: those before it need not be asked again.
      at = star + 1
      index = ++retryFrom
    } else return false
  }
  while (glob[at] === '*') at++
  return at === glob.length
}
