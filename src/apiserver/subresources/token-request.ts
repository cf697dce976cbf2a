/** `serviceaccounts/NAME/token` over HTTP. */
import { defaultTokenRequest, validateTokenRequest } from '#api/authentication/v1/token-request.ts'
import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { AdmissionChain, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { TokenRequests } from '#apiserver/authn/service-account/token-request.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodingBody } from '#apiserver/http/decode-body.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { bodyOptions, readWritten, writeContext } from '#apiserver/http/write-verbs.ts'
import { respondValue, valueFormOf } from '#apiserver/subresources/respond-value.ts'
import { inSteps } from '#base/steps.ts'

const tokenRequestDefinition: ResourceDefinition<V1TokenRequest> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  plural: 'tokenrequests',
  scope: 'Namespaced',
  schema: 'io.k8s.api.authentication.v1.TokenRequest',
}

const same = (object: KubernetesObject): KubernetesObject => object
const served = { definition: tokenRequestDefinition, fromStored: same, toStored: same }

export type TokenRequestParts = {
  services: EndpointServices
  tokens: TokenRequests
  admission: Pick<AdmissionChain, 'mutate' | 'validate'>
}

export async function requestToken(
  context: RequestContext,
  resource: ServedResource,
  { services, tokens, admission }: TokenRequestParts,
): Promise<void> {
  valueFormOf(context)
  const options = writeOptions('CreateOptions', context.query)
  const body = await readWritten(context, services)
  const giveWay = () => services.giveWay(context)
  const decoding = decodingBody(body, tokenRequestDefinition, {
    ...bodyOptions(context),
    fieldValidation: options.fieldValidation,
    entryLimits: services.fairUse.limits.entries,
  })
  const asked = await inSteps(decoding, giveWay)
  defaultTokenRequest(asked)
  const write = { ...writeContext(context, resource, options, 'CreateOptions'), served, giveWay }
  await services.ownership.afterUpdate(undefined, asked as KubernetesObject, write)
  await resource.registry.cache.fresh()
  const { name, namespace } = context.info
  const review = (object: V1TokenRequest): AdmissionRequest => ({
    ...write,
    operation: 'CREATE',
    definition: resource.registry.definition,
    kind: tokenRequestDefinition,
    name,
    object: object as KubernetesObject,
    oldObject: undefined,
    onFinish() {},
  })
  // Plugins that may change it see what was asked; those that only validate see it filled in.
  await admission.mutate(review(asked))
  const prepared = tokens.prepare(asked, namespace, name, validateTokenRequest)
  await admission.validate(review(prepared))
  await giveWay()
  const { request, warnings, auditAnnotations } = tokens.answer(prepared)
  for (const warning of warnings) context.warn(warning)
  for (const [key, value] of Object.entries(auditAnnotations)) context.annotateAudit(key, value)
  await giveWay()
  respondValue(context, request as KubernetesObject, tokenRequestDefinition.schema, 201)
}
