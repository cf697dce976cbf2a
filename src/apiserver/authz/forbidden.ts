import { quoted } from '#api/meta/check.ts'
import { forbidden as forbiddenStatus, StatusError } from '#api/meta/status-error.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'

/** A refusal for want of permission: 403. */
export class Forbidden extends StatusError {
  override name = 'Forbidden'
  readonly group: string
  readonly resource: string
  readonly objectName: string

  constructor(group: string, resource: string, objectName: string, why: string) {
    super(forbiddenStatus({ group, resource }, objectName, why).status)
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
