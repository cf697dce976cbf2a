/** The authenticators of a server, in upstream's order: proxies, certificates, tokens, and last of all nobody. */
import { Node, Pod, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { type AnonymousOptions, anonymousAuthenticator } from '#apiserver/authn/anonymous.ts'
import { forServerOnly } from '#apiserver/authn/audiences.ts'
import { withAuthenticatedGroup } from '#apiserver/authn/authenticated-group.ts'
import type { Authenticator, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { bearerTokenAuthenticator, webSocketTokenAuthenticator } from '#apiserver/authn/bearer-token.ts'
import { bootstrapTokenAuthenticator } from '#apiserver/authn/bootstrap-token.ts'
import type { ClusterLookups, NodeLike, PodLike, SecretLike, ServiceAccountLike } from '#apiserver/authn/cluster-lookups.ts'
import { type RequestHeaderOptions, requestHeaderAuthenticator } from '#apiserver/authn/request-header.ts'
import type { ServiceAccountIssuer } from '#apiserver/authn/service-account/issuer.ts'
import { legacyServiceAccountTokenAuthenticator } from '#apiserver/authn/service-account/legacy-token-authenticator.ts'
import { serviceAccountTokenAuthenticator } from '#apiserver/authn/service-account/token-authenticator.ts'
import { otherwise, unionAuthenticator, unionTokenAuthenticator } from '#apiserver/authn/union.ts'
import { x509Authenticator } from '#apiserver/authn/x509.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { anchorsOf, type ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

export type StandardAuthenticatorOptions = {
  cluster: ClusterView
  keys: ServerKeys
  clock: Clock
  logger: Logger
  serviceAccounts: ServiceAccountIssuer
  /** Whose headers are believed. */
  frontProxy: Omit<RequestHeaderOptions, 'clock'>
  more: MoreAuthenticators
  /** Whether bootstrap tokens are accepted; they are unless said. */
  acceptsBootstrapTokens?: boolean | undefined
}

/** What is configured, beside what every server has. */
export type MoreAuthenticators = {
  /** Asked before the tokens of service accounts. */
  readonly tokens: readonly TokenAuthenticator[]
  /** Asked after them: those that take longer. */
  readonly slowTokens: readonly TokenAuthenticator[]
  readonly requests: readonly Authenticator[]
  /** Undefined: nobody is let in without a credential. */
  readonly anonymous: AnonymousOptions | undefined
}

export function standardAuthenticator(options: StandardAuthenticatorOptions): Authenticator {
  const { cluster, keys, clock, logger, serviceAccounts, frontProxy, more, acceptsBootstrapTokens = true } = options
  const lookups = clusterLookups(cluster)
  const { issuers, audiences: serverAudiences, publicKeys } = serviceAccounts
  const labelSecret = labelSecretOf(cluster, logger)
  const tokens = unionTokenAuthenticator([
    ...more.tokens,
    legacyServiceAccountTokenAuthenticator({ keys: publicKeys, serverAudiences, lookups, clock, labelSecret }),
    serviceAccountTokenAuthenticator({ issuers, keys: publicKeys, serverAudiences, lookups, clock }),
    ...(acceptsBootstrapTokens ? [forServerOnly(serverAudiences, bootstrapTokenAuthenticator(lookups, clock, logger))] : []),
    ...more.slowTokens,
  ])
  const clientAuthority = anchorsOf(keys, 'ca')
  const known = withAuthenticatedGroup(
    unionAuthenticator([
      requestHeaderAuthenticator({ ...frontProxy, clock }),
      x509Authenticator(clientAuthority, clock),
      ...more.requests,
      bearerTokenAuthenticator(tokens, serverAudiences),
      webSocketTokenAuthenticator(tokens, serverAudiences),
    ]),
  )
  return more.anonymous === undefined ? known : otherwise(known, anonymousAuthenticator(more.anonymous))
}

/** The cluster as authenticators look things up in it. */
export function clusterLookups(cluster: ClusterView): ClusterLookups {
  return {
    lookupServiceAccount: (namespace, name) => cluster.get(ServiceAccount, namespace, name) as ServiceAccountLike | undefined,
    lookupSecret: (namespace, name) => cluster.get(Secret, namespace, name) as SecretLike | undefined,
    lookupPod: (namespace, name) => cluster.get(Pod, namespace, name) as PodLike | undefined,
    lookupNode: (name) => cluster.get(Node, name) as NodeLike | undefined,
  }
}

function labelSecretOf(cluster: ClusterView, logger: Logger) {
  return ({ namespace, name, uid }: { namespace: string; name: string; uid: string }, labels: Record<string, string>): void => {
    const secret = cluster.get(Secret, namespace, name)
    if (secret === undefined || secret.metadata?.uid !== uid) return
    const next = { ...secret, metadata: { ...secret.metadata, labels: { ...secret.metadata.labels, ...labels } } }
    cluster
      .replace(Secret, next)
      .catch((error: unknown) =>
        logger.debug('failed to update last-used label of legacy service account token', { namespace, name, error: String(error) }),
      )
  }
}
