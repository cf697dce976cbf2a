/** Reads the names of images: `nginx`, `registry.example.com:5000/team/app:1.2@sha256:…`. */
import { remembered } from '#base/remembered.ts'

export type ImageReference = { repository: string; tag?: string; digest?: string }

const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`
const pathPart = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*'
const tag = '\\w[\\w.-]{0,127}'
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}'
const reference = new RegExp(`^(${domain}/${pathPart}(?:/${pathPart})*)(?::(${tag}))?(?:@(${digest}))?$`)
const bareDigest = /^[a-f0-9]{64}$/
const digestLengths: Record<string, number> = { sha256: 64, sha384: 96, sha512: 128 }
const repositoryMaxLength = 255

/** Undefined when the text names no image. A reference that names neither tag nor digest means the tag `latest`. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (bareDigest.test(text)) return undefined
  const { registry, path } = splitRegistry(text)
  const remote = path.split(':', 1)[0] ?? ''
  if (remote !== remote.toLowerCase()) return undefined
  const match = reference.exec(`${registry}/${path}`)
  if (match === null) return undefined
  const [, repository = '', foundTag, foundDigest] = match
  if (repository.length - registry.length - 1 > repositoryMaxLength) return undefined
  if (foundDigest !== undefined && !isDigest(foundDigest)) return undefined
  const parsed: ImageReference = { repository }
  if (foundTag !== undefined) parsed.tag = foundTag
  if (foundDigest !== undefined) parsed.digest = foundDigest
  if (foundTag === undefined && foundDigest === undefined) parsed.tag = 'latest'
  return parsed
}

/** Images without a registry are Docker Hub's, and those without a user are its library's. */
function splitRegistry(text: string): { registry: string; path: string } {
  const slash = text.indexOf('/')
  const head = text.slice(0, Math.max(0, slash))
  const isRegistry = slash >= 0 && (/[.:]/.test(head) || head === 'localhost' || head !== head.toLowerCase())
  const registry = isRegistry && head !== 'index.docker.io' ? head : 'docker.io'
  const path = isRegistry ? text.slice(slash + 1) : text
  return { registry, path: registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path }
}

function isDigest(text: string): boolean {
  const colon = text.indexOf(':')
  const hex = text.slice(colon + 1)
  return digestLengths[text.slice(0, colon)] === hex.length && hex === hex.toLowerCase()
}

/** A moving tag must be asked for each time. */
export const defaultPullPolicy = remembered<'Always' | 'IfNotPresent'>(
  (image) => (parseImageReference(image)?.tag === 'latest' ? 'Always' : 'IfNotPresent'),
  4096,
)
