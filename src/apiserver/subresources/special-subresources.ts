/** Subresources that are more than a write of their object, by `group/plural/subresource`. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { UpdateRules } from '#api/resource.ts'
import type { ServiceAccountIssuer } from '#apiserver/authn/service-account/issuer.ts'
import { TokenRequests } from '#apiserver/authn/service-account/token-request.ts'
import { TokenSigner } from '#apiserver/authn/service-account/token-signer.ts'
import { clusterLookups } from '#apiserver/authn/standard-authenticator.ts'
import { formOf } from '#apiserver/http/asked-form.ts'
import { respondObject, type SpecialSubresource } from '#apiserver/http/resource-endpoints.ts'
import { replaceObject } from '#apiserver/http/write-verbs.ts'
import type { NodeConnections } from '#apiserver/node-connections/node-connections.ts'
import type { ServerParts } from '#apiserver/server.ts'
import { bind } from '#apiserver/subresources/binding.ts'
import { rollBack } from '#apiserver/subresources/deployment-rollback.ts'
import { evict } from '#apiserver/subresources/eviction.ts'
import { podLog, podStream } from '#apiserver/subresources/pod-connect.ts'
import { proxySubresource } from '#apiserver/subresources/proxy.ts'
import { requestToken } from '#apiserver/subresources/token-request.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Random } from '#base/random.ts'

/** Only the finalizers of a namespace's spec change. */
const finalizeRules: UpdateRules<V1Namespace> = {
  prepareForUpdate(next, prev) {
    const { spec } = next
    const kept = deepCopy(prev)
    Object.assign(next, kept, {
      metadata: { ...kept.metadata, ...defined({ finalizers: next.metadata?.finalizers }) },
      spec: { ...kept.spec, finalizers: spec?.finalizers ?? [] },
    })
  },
}

type SpecialSubresourceOptions = {
  serviceAccounts: ServiceAccountIssuer
  clock: Clock
  random: Random
  /** The way to kubelets. */
  nodes: NodeConnections
  isEnabled(featureGate: string): boolean
}

export function specialSubresources(
  { registries, services, cluster, admission, authorizer }: ServerParts,
  { serviceAccounts, clock, random, nodes, isEnabled }: SpecialSubresourceOptions,
): ReadonlyMap<string, SpecialSubresource> {
  const { issuers, audiences, privateKey, maxExpirationSeconds, extendsExpiration } = serviceAccounts
  const tokens = new TokenRequests({
    signer: new TokenSigner({ issuer: issuers[0] ?? '', privateKey, clock, random }),
    serverAudiences: audiences,
    clock,
    lookups: clusterLookups(cluster),
    maxExpirationSeconds,
    extendsExpiration,
  })
  const rollback: SpecialSubresource = { methods: ['POST'], handle: (context, resource) => rollBack(context, resource, services) }
  const pods = () => registries.of(Pod)
  const validate = isEnabled('AuthorizePodWebsocketUpgradeCreatePermission') ? authorizer : undefined
  const stream: SpecialSubresource = {
    methods: ['GET', 'POST'],
    handle: (context, resource) => podStream(context, resource, { authorizer: validate, admission, nodes, pods }),
  }
  const splitsStreams = isEnabled('PodLogsQuerySplitStreams')
  const proxied = { cluster, nodes, random, admission }
  return new Map<string, SpecialSubresource>([
    ['apps/deployments/rollback', rollback],
    ['extensions/deployments/rollback', rollback],
    ['/pods/binding', { methods: ['POST'], handle: (context) => bind(context, { registries, services, admission }) }],
    ['/pods/eviction', { methods: ['POST'], handle: (context, resource) => evict(context, resource, { registries, services, admission }) }],
    ['/pods/log', { methods: ['GET'], handle: (context) => podLog(context, { nodes, splitsStreams, pods }) }],
    ['/pods/exec', stream],
    ['/pods/attach', stream],
    ['/pods/portforward', stream],
    ['/pods/proxy', proxySubresource('pods', proxied)],
    ['/services/proxy', proxySubresource('services', proxied)],
    ['/nodes/proxy', proxySubresource('nodes', proxied)],
    [
      '/serviceaccounts/token',
      { methods: ['POST'], handle: (context, resource) => requestToken(context, resource, { services, tokens, admission }) },
    ],
    [
      '/namespaces/finalize',
      {
        methods: ['PUT'],
        async handle(context, resource) {
          const { status, object } = await replaceObject(context, resource, services, finalizeRules)
          await respondObject(services, context, resource, object, formOf(context), status)
        },
      },
    ],
  ])
}
