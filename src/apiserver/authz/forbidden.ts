import { quoted } from '#api/meta/check.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'

/** A refusal, with what a Status needs to tell of it: status 403, reason Forbidden. */
export class Forbidden extends Error {
  override name = 'Forbidden'
  readonly group: string
  /** What the Status calls `kind` in its details. */
  readonly resource: string
  readonly objectName: string

  constructor(group: string, resource: string, objectName: string, why: string) {
    super(forbiddenText(group, resource, objectName, why))
    this.group = group
    this.resource = resource
    this.objectName = objectName
  }
}

/** What somebody who asked for `attributes` is told. */
export function forbidden(attributes: Attributes, reason: string): Forbidden {
  const sentence = withoutMarkup(deniedSentence(attributes))
  return new Forbidden(attributes.group, attributes.resource, attributes.name, reason === '' ? sentence : `${sentence}: ${reason}`)
}

function forbiddenText(group: string, resource: string, name: string, why: string): string {
  if (group === '' && resource === '') return `forbidden: ${why}`
  const qualified = group === '' ? resource : `${resource}.${group}`
  return name === '' ? `${qualified} is forbidden: ${why}` : `${qualified} ${quoted(name)} is forbidden: ${why}`
}

function deniedSentence({ user, verb, path, isResourceRequest, resource, subresource, group, namespace }: Attributes): string {
  if (!isResourceRequest) return `User ${quoted(user.name)} cannot ${verb} path ${quoted(path)}`
  const what = quoted(subresource === '' ? resource : `${resource}/${subresource}`)
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quoted(namespace)}`
  return `User ${quoted(user.name)} cannot ${verb} resource ${what} in API group ${quoted(group)} ${where}`
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Names come from clients, and browsers may show the text. */
function withoutMarkup(text: string): string {
  return text.replace(/[&<>]/g, (char) => entities[char] ?? char)
}
