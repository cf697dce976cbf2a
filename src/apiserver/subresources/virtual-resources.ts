/** Resources that are questions: a POST is validated and answered, nothing is stored. By method and `group/plural`. */
import { SelfSubjectReview, TokenReview } from '#api/authentication/v1/kinds.gen.ts'
import {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '#api/authorization/v1/kinds.gen.ts'
import type { Kind } from '#api/kind.ts'
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { badRequest, invalid } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { reviewToken, userInfo } from '#apiserver/authn/reviews.ts'
import { reviewAccess, reviewRules } from '#apiserver/authz/access-review.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodingBody, storingWithDefaults } from '#apiserver/http/decode-body.ts'
import { warnOfDeprecation } from '#apiserver/http/deprecation.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import { bodyOptions, readWritten, writeContext } from '#apiserver/http/write-verbs.ts'
import type { ServerParts } from '#apiserver/server.ts'
import { admissionRequestOf } from '#apiserver/subresources/admit.ts'
import { bind } from '#apiserver/subresources/binding.ts'
import { respondValue, valueFormOf } from '#apiserver/subresources/respond-value.ts'
import type { Clock } from '#base/clock.ts'
import { inSteps } from '#base/steps.ts'

type Answer = {
  /** Throws what the kind's rules do not say, before anybody else is asked. */
  require(review: KubernetesObject, context: RequestContext): void
  answer(review: KubernetesObject, context: RequestContext): Promise<object>
}

/** What is asked of a kind is decoded by its schema, hence of its type. */
function answersOf<T extends KubernetesObject>(
  { group, plural }: Kind<T>,
  answer: (review: T, context: RequestContext) => Promise<object>,
  require: (review: T, context: RequestContext) => void = () => {},
): [string, Answer] {
  return [
    `${group}/${plural}`,
    { answer: (review, context) => answer(review as T, context), require: (review, context) => require(review as T, context) },
  ]
}

export function virtualResources(
  { registries, services, authenticator, authorizer, admission }: ServerParts,
  { clock, audiences }: { clock: Clock; audiences: readonly string[] },
): Map<string, Endpoint> {
  const answers = [
    answersOf(TokenReview, ({ spec }) => reviewToken(spec, authenticator, audiences)),
    answersOf(SelfSubjectReview, async (_review, { user }) => ({ userInfo: userInfo(user) })),
    answersOf(SubjectAccessReview, ({ spec }) => reviewAccess(spec, authorizer)),
    answersOf(SelfSubjectAccessReview, ({ spec }, { user }) => reviewAccess(spec, authorizer, user)),
    answersOf(
      LocalSubjectAccessReview,
      ({ spec }) => reviewAccess(spec, authorizer),
      ({ spec }, { info }) => {
        if (spec.resourceAttributes?.namespace === info.namespace) return
        throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${info.namespace}`)
      },
    ),
    answersOf(
      SelfSubjectRulesReview,
      async ({ spec: { namespace = '' } }, { user }) => reviewRules(user, namespace, authorizer),
      ({ spec }) => {
        if (!spec.namespace) throw badRequest('no namespace on request')
      },
    ),
  ]
  const endpoints = new Map<string, Endpoint>([['POST /bindings', (context) => bind(context, { registries, services, admission })]])
  for (const [name, answer] of answers) endpoints.set(`POST ${name}`, (context) => review(context, answer))

  async function review(context: RequestContext, { require, answer }: Answer): Promise<void> {
    const { info } = context
    const resource = services.find(info.group, info.version, info.resource)
    if (resource === undefined) return
    warnOfDeprecation(context, resource)
    valueFormOf(context)
    const { definition } = resource
    const options = writeOptions('CreateOptions', context.query)
    const body = await readWritten(context, services)
    const giveWay = () => services.giveWay(context)
    const decoding = decodingBody(body, definition, {
      ...bodyOptions(context),
      fieldValidation: options.fieldValidation,
      entryLimits: services.fairUse.limits.entries,
    })
    const decoded = await inSteps(decoding, giveWay)
    await giveWay()
    const object = await inSteps(storingWithDefaults(resource, decoded), giveWay)
    await services.ownership.afterUpdate(undefined, object, {
      ...writeContext(context, resource, options, 'CreateOptions'),
      giveWay,
    })
    await giveWay()
    if (definition.scope === 'Namespaced') object.metadata = { ...object.metadata, namespace: info.namespace }
    if (definition.kind === 'SelfSubjectReview') object.metadata = { ...object.metadata, creationTimestamp: formatTime(clock.now()) }
    // Webhooks are asked about questions, too; policies are not.
    const request = admissionRequestOf(context, {
      ...{ operation: 'CREATE', definition: resource.registry.definition, kind: definition, name: object.metadata?.name ?? '', object },
      isDryRun: options.dryRun.includes('All'),
    })
    await admission.mutate(request)
    await giveWay()
    await validate(resource.registry.definition, object, clock, giveWay)
    require(object, context)
    await admission.validate(request)
    await giveWay()
    const status = await answer(object, context)
    await giveWay()
    // An answer about the asker's own rules does not repeat the question.
    const shown = definition.kind === 'SelfSubjectRulesReview' ? { ...object, metadata: {}, spec: {} } : deepCopy(object)
    const answered = resource.fromStored(withStatus(shown, status))
    await giveWay()
    respondValue(context, answered, definition.schema, 201)
  }
  return endpoints
}

const withStatus = (review: KubernetesObject, status: object): KubernetesObject & { status: object } => ({ ...review, status })

async function validate(
  definition: ResourceDefinition,
  object: KubernetesObject,
  clock: Clock,
  giveWay: () => Promise<void> | undefined,
): Promise<void> {
  const check = new Check(object)
  const steps = definition.validate?.(object, check, { now: formatTime(clock.now()), isEnabled: () => true })
  if (steps) await inSteps(steps, giveWay)
  // Upstream has lost the kind by then, and clients see it missing.
  if (check.failed) throw invalid({ group: definition.group, kind: '' }, '', check.errors)
}
