/** Resources that are questions: a POST is validated and answered, nothing is stored. By `group/plural`. */
import type { V1TokenReview } from '#api/authentication/v1/types.gen.ts'
import type {
  V1LocalSubjectAccessReview,
  V1SelfSubjectAccessReview,
  V1SelfSubjectRulesReview,
  V1SubjectAccessReview,
} from '#api/authorization/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { badRequest, invalid } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { reviewToken, userInfo } from '#apiserver/authn/reviews.ts'
import { reviewAccess, reviewRules } from '#apiserver/authz/access-review.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodeBody, toStoredWithDefaults } from '#apiserver/http/decode-body.ts'
import { warnOfDeprecation } from '#apiserver/http/deprecation.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import { bodyOptions, writeContext } from '#apiserver/http/write-verbs.ts'
import type { ServerParts } from '#apiserver/server.ts'
import { bind } from '#apiserver/subresources/binding.ts'
import { respondValue, valueFormOf } from '#apiserver/subresources/respond-value.ts'
import type { Clock } from '#base/clock.ts'

type Answer = (review: KubernetesObject, context: RequestContext) => Promise<object>

export function virtualResources(
  { registries, services, authenticator, authorizer, admission }: ServerParts,
  { clock, audiences }: { clock: Clock; audiences: readonly string[] },
): ReadonlyMap<string, Endpoint> {
  const answers: Record<string, Answer> = {
    'authentication.k8s.io/tokenreviews': (review) => reviewToken((review as V1TokenReview).spec, authenticator, audiences),
    'authentication.k8s.io/selfsubjectreviews': async (_review, { user }) => ({ userInfo: userInfo(user) }),
    'authorization.k8s.io/subjectaccessreviews': (review) => reviewAccess((review as V1SubjectAccessReview).spec, authorizer),
    'authorization.k8s.io/selfsubjectaccessreviews': (review, { user }) =>
      reviewAccess((review as V1SelfSubjectAccessReview).spec, authorizer, user),
    'authorization.k8s.io/localsubjectaccessreviews': (review, { info }) => {
      const { spec } = review as V1LocalSubjectAccessReview
      if (spec.resourceAttributes?.namespace !== info.namespace) {
        throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${info.namespace}`)
      }
      return reviewAccess(spec, authorizer)
    },
    'authorization.k8s.io/selfsubjectrulesreviews': async (review, { user }) => {
      const { namespace = '' } = (review as V1SelfSubjectRulesReview).spec
      if (namespace === '') throw badRequest('no namespace on request')
      return reviewRules(user, namespace, authorizer)
    },
  }
  const endpoints = new Map<string, Endpoint>([['/bindings', (context) => bind(context, { registries, services, admission })]])
  for (const [name, answer] of Object.entries(answers)) endpoints.set(name, (context) => review(context, answer))

  async function review(context: RequestContext, answer: Answer): Promise<void> {
    const { info } = context
    const resource = services.find(info.group, info.version, info.resource)
    if (resource === undefined) return
    warnOfDeprecation(context, resource)
    valueFormOf(context)
    const { definition } = resource
    const options = writeOptions('CreateOptions', context.query)
    const body = await context.exchange.readBody(services.bodyLimitBytes)
    const decoded = decodeBody(body, definition, { ...bodyOptions(context), fieldValidation: options.fieldValidation })
    const object = toStoredWithDefaults(resource, decoded)
    services.ownership.afterUpdate(undefined, object, writeContext(context, resource, options, 'CreateOptions'))
    if (definition.scope === 'Namespaced') object.metadata = { ...object.metadata, namespace: info.namespace }
    if (definition.kind === 'SelfSubjectReview') object.metadata = { ...object.metadata, creationTimestamp: formatTime(clock.now()) }
    validate(resource.registry.definition, object, clock)
    const status = await answer(object, context)
    // An answer about the asker's own rules does not repeat the question.
    const { kind, apiVersion } = object
    const shown = definition.kind === 'SelfSubjectRulesReview' ? { kind, apiVersion, metadata: {}, spec: {} } : deepCopy(object)
    const answered = resource.fromStored({ ...shown, status } as unknown as KubernetesObject)
    respondValue(context, answered, definition.schema, 201)
  }
  return endpoints
}

function validate(definition: ResourceDefinition, object: KubernetesObject, clock: Clock): void {
  const check = new Check(object)
  definition.validate?.(object, check, { now: formatTime(clock.now()), isEnabled: () => true })
  // Upstream has lost the kind by then, and clients see it missing.
  if (check.failed) throw invalid({ group: definition.group, kind: '' }, '', check.errors)
}
