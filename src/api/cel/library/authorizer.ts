/** What users may do, asked from inside of an expression: `authorizer.group('').resource('pods').check('list').allowed()`. */
import { bool, type CelType, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member } from '#api/cel/types/declarations.ts'
import { CelError, CelObject, type Value } from '#api/cel/values/value.ts'
import { nameIsDns1123Label, nameIsDns1123Subdomain } from '#api/meta/names.ts'

export const authorizerType = struct('kubernetes.authorization.Authorizer')
export const pathCheckType = struct('kubernetes.authorization.PathCheck')
export const groupCheckType = struct('kubernetes.authorization.GroupCheck')
export const resourceCheckType = struct('kubernetes.authorization.ResourceCheck')
export const decisionType = struct('kubernetes.authorization.Decision')

export type AccessQuestion = {
  /** Undefined: the one who asks. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}
export type AccessAnswer = { readonly isAllowed: boolean; readonly reason: string; readonly error?: string }

/** The host's side. Throws `Pending` where the answer takes time. */
export type AccessAuthorizer = (question: AccessQuestion) => AccessAnswer

/** Thrown through an expression whose host has to wait for something; it is run again when that is there. */
export class Pending extends Error {
  readonly until: Promise<unknown>
  constructor(until: Promise<unknown>) {
    super('an answer is still under way')
    this.until = until
  }
}

type Asked = Omit<AccessQuestion, 'verb'>

class Check extends CelObject {
  override readonly type: CelType
  readonly ask: AccessAuthorizer
  readonly asked: Asked

  constructor(type: CelType, ask: AccessAuthorizer, asked: Asked) {
    super()
    this.type = type
    this.ask = ask
    this.asked = asked
  }
  override equals(other: Value): boolean {
    return this === other
  }
  with(type: CelType, more: Asked): Check {
    return new Check(type, this.ask, { ...this.asked, ...more })
  }
}

class Decision extends CelObject {
  override readonly type = decisionType
  readonly answer: AccessAnswer

  constructor(answer: AccessAnswer) {
    super()
    this.answer = answer
  }
  override equals(other: Value): boolean {
    return this === other
  }
}

export const authorizerValue = (ask: AccessAuthorizer): Value => new Check(authorizerType, ask, {})
/** Begins where the request is. */
export const resourceCheckValue = (ask: AccessAuthorizer, asked: Asked): Value => new Check(resourceCheckType, ask, asked)

const check = (value: Value | undefined): Check => value as Check
const answer = (value: Value | undefined): AccessAnswer => (value as Decision).answer

function nonEmpty(text: string, what: string): string {
  if (text.trim() === '') throw new CelError(`${what} must not be empty`)
  return text
}

function serviceAccount(authorizer: Check, namespace: string, name: string): Check {
  if (nameIsDns1123Subdomain(name, false).length > 0) throw new CelError('Invalid service account name')
  if (nameIsDns1123Label(namespace, false).length > 0) throw new CelError('Invalid service account namespace')
  return authorizer.with(authorizerType, { serviceAccount: { namespace, name } })
}

const narrowed = (name: keyof Asked, id = `resourcecheck_${name.toLowerCase()}`): FunctionDeclaration =>
  declare(
    name,
    member(id, [resourceCheckType, string], resourceCheckType, (value, text) =>
      check(value).with(resourceCheckType, { [name]: text as string }),
    ),
  )

export const authorizerLibrary: readonly FunctionDeclaration[] = [
  declare(
    'path',
    member('authorizer_path', [authorizerType, string], pathCheckType, (value, path) =>
      check(value).with(pathCheckType, { path: nonEmpty(path as string, 'path') }),
    ),
  ),
  declare(
    'group',
    member('authorizer_group', [authorizerType, string], groupCheckType, (value, group) =>
      check(value).with(groupCheckType, { group: group as string }),
    ),
  ),
  declare(
    'serviceAccount',
    member('authorizer_serviceaccount', [authorizerType, string, string], authorizerType, (value, namespace, name) =>
      serviceAccount(check(value), namespace as string, name as string),
    ),
  ),
  declare(
    'resource',
    member('groupcheck_resource', [groupCheckType, string], resourceCheckType, (value, resource) =>
      check(value).with(resourceCheckType, { resource: nonEmpty(resource as string, 'resource') }),
    ),
  ),
  narrowed('subresource'),
  narrowed('namespace'),
  narrowed('name'),
  narrowed('fieldSelector', 'authorizer_fieldselector'),
  narrowed('labelSelector', 'authorizer_labelselector'),
  declare(
    'check',
    ...[pathCheckType, resourceCheckType].map((type) =>
      member(
        `${type === pathCheckType ? 'pathcheck' : 'resourcecheck'}_check`,
        [type, string],
        decisionType,
        (value, verb) => new Decision(check(value).ask({ ...check(value).asked, verb: verb as string })),
      ),
    ),
  ),
  declare(
    'errored',
    member('decision_errored', [decisionType], bool, (value) => answer(value).error !== undefined),
  ),
  declare(
    'error',
    member('decision_error', [decisionType], string, (value) => answer(value).error ?? ''),
  ),
  declare(
    'allowed',
    member('decision_allowed', [decisionType], bool, (value) => answer(value).isAllowed),
  ),
  declare(
    'reason',
    member('decision_reason', [decisionType], string, (value) => answer(value).reason),
  ),
]
