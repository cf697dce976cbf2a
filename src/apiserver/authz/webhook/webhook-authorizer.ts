import type { V1SubjectAccessReviewSpec, V1SubjectAccessReviewStatus } from '#api/authorization/v1/types.gen.ts'
import type { Program } from '#api/cel/environment.ts'
import { accessCel } from '#api/cel/load.ts'
import { ExpiringCache } from '#apiserver/authn/expiring-cache.ts'
import type { ReviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import type { Attributes, AuthorizationResult, Authorizer, Decision, LabelRequirement } from '#apiserver/authz/authorizer.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { shortKey } from '#base/short-key.ts'

export type WebhookAuthorizerOptions = {
  send: ReviewWebhook
  version?: 'v1' | 'v1beta1'
  allowedTtlMs: number
  refusedTtlMs: number
  /** When the service cannot be asked. */
  onError: Extract<Decision, 'deny' | 'noOpinion'>
  /** The service is asked only about requests for which all of them hold. */
  conditions?: readonly Program[]
  clock: Clock
  log: Logger
}

const capacity = 8192
/** What a client puts into names must not fill the memory. */
const longestRemembered = 10_000

/** Asks a service, and remembers for a while what it said. */
export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { send, version = 'v1', clock, log, onError, conditions = [] } = options
  const apiVersion = `authorization.k8s.io/${version}`
  const answers = new ExpiringCache<AuthorizationResult>(clock, capacity)
  const ask = async (spec: V1SubjectAccessReviewSpec, key: string, isRemembered: boolean): Promise<AuthorizationResult> => {
    try {
      const review = await send({
        apiVersion,
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: forVersion(spec, version),
        status: { allowed: false },
      })
      if (review['kind'] !== 'SubjectAccessReview' || review['apiVersion'] !== apiVersion) {
        throw new Error(
          `the webhook answered with ${review['kind']} of ${review['apiVersion']} instead of SubjectAccessReview of ${apiVersion}`,
        )
      }
      const status = (review['status'] ?? {}) as V1SubjectAccessReviewStatus
      const result = resultOf(status)
      if (isRemembered) answers.set(key, result, status.allowed === true ? options.allowedTtlMs : options.refusedTtlMs)
      return result
    } catch (error) {
      const message = errorMessage(error)
      log.error('authorization webhook call failed', { error: message })
      return { decision: onError, reason: '', error: message }
    }
  }
  return {
    authorize(attributes) {
      const spec = specOf(attributes)
      if (conditions.length > 0) {
        try {
          if (!accessCel().accessConditionsHold(conditions, reviewed(spec))) return { decision: 'noOpinion', reason: '' }
        } catch (error) {
          return { decision: onError, reason: '', error: (error as Error).message }
        }
      }
      const key = shortKey(JSON.stringify(spec))
      return answers.get(key) ?? ask(spec, key, sizeOf(attributes) < longestRemembered)
    },
    rulesFor: () => ({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'webhook authorizer does not support user rule resolution',
    }),
  }
}

const attributeNames = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name']

/** The review as conditions see it: texts that are not there are empty. */
function reviewed({ resourceAttributes: attributes, ...spec }: V1SubjectAccessReviewSpec): object {
  const absent = Object.fromEntries(attributeNames.map((name) => [name, '']))
  return {
    user: '',
    groups: [],
    uid: '',
    extra: {},
    ...spec,
    ...defined({ resourceAttributes: attributes && { ...absent, ...attributes } }),
  }
}

function resultOf({ allowed, denied, reason = '' }: V1SubjectAccessReviewStatus): AuthorizationResult {
  if (denied === true && allowed === true) {
    return { decision: 'deny', reason, error: 'webhook subject access review returned both allow and deny response' }
  }
  return { decision: denied === true ? 'deny' : allowed === true ? 'allow' : 'noOpinion', reason }
}

function specOf(attributes: Attributes): V1SubjectAccessReviewSpec {
  const { user, verb, path, isResourceRequest } = attributes
  const { name = '', uid = '', groups, extra } = user
  return {
    ...(isResourceRequest ? { resourceAttributes: resourceAttributes(attributes) } : { nonResourceAttributes: { path, verb } }),
    ...omitEmpty({ user: name, groups: [...groups] }),
    ...defined({
      extra:
        Object.keys(extra).length === 0 ? undefined : Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    }),
    ...omitEmpty({ uid }),
  }
}

function resourceAttributes({ namespace, verb, group, version, resource, subresource, name, fieldSelector, labelSelector }: Attributes) {
  const texts = Object.entries({ namespace, verb, group, version, resource, subresource, name }).filter(([, text]) => text !== '')
  const fields = (fieldSelector ?? []).map(({ field, operator, value }) => ({
    key: field,
    operator: operator === '=' ? 'In' : 'NotIn',
    values: [value],
  }))
  const labels = (labelSelector ?? []).flatMap(labelRequirement)
  return {
    ...Object.fromEntries(texts),
    ...defined({
      fieldSelector: fields.length === 0 ? undefined : { requirements: fields },
      labelSelector: labels.length === 0 ? undefined : { requirements: labels },
    }),
  }
}

const operators: Partial<Record<LabelRequirement['operator'], string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
}

/** Comparisons of numbers have no form here; without them more is asked for, which is safe. */
function labelRequirement({ key, operator, values }: LabelRequirement): { key: string; operator: string; values?: string[] }[] {
  const known = operators[operator]
  return known === undefined ? [] : [{ key, operator: known, ...omitEmpty({ values: [...values] }) }]
}

/** The old version has another name for the groups. */
function forVersion({ groups, ...rest }: V1SubjectAccessReviewSpec, version: 'v1' | 'v1beta1'): object {
  return groups === undefined ? rest : version === 'v1' ? { ...rest, groups } : { ...rest, group: groups }
}

function sizeOf({ namespace, verb, group, version, resource, subresource, name, path }: Attributes): number {
  return [namespace, verb, group, version, resource, subresource, name, path].reduce((sum, text) => sum + text.length, 0)
}
