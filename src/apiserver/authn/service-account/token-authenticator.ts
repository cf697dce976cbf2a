import { quoted } from '#api/meta/check.ts'
import { sharedAudiences } from '#apiserver/authn/audiences.ts'
import {
  type AuthResult,
  credentialIdKey,
  type TokenAuthenticator,
  Unauthenticated,
  type UserInfo,
} from '#apiserver/authn/authenticator.ts'
import type { ClusterLookups } from '#apiserver/authn/cluster-lookups.ts'
import { audiencesOf, type KubernetesClaims, kubernetesClaims, type ObjectClaim } from '#apiserver/authn/service-account/claims.ts'
import type { JwtClaims } from '#apiserver/authn/service-account/jwt.ts'
import { serviceAccountGroups, serviceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import { type PublicKeys, VerifiedTokens } from '#apiserver/authn/service-account/verified-tokens.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'

export type ServiceAccountTokenOptions = {
  /** The first signs; tokens of all are believed. */
  issuers: readonly string[]
  keys: PublicKeys
  serverAudiences: readonly string[]
  lookups: ClusterLookups
  clock: Clock
}

type Verified = {
  readonly subject: string
  readonly audiences: readonly string[]
  readonly notBeforeMs: number
  readonly issuedAtMs: number
  readonly expiryMs: number
  readonly claims: KubernetesClaims
  /** For the server's own audiences: made once, so that every use of the token gives the same object. */
  readonly result: AuthResult
}

/** Clocks differ; and what was deleted may still be at work for a moment. */
const leewayMs = 60_000

/** Tokens made by TokenRequest: signed, limited in time and audience, and gone with the object they are bound to. */
export function serviceAccountTokenAuthenticator(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { serverAudiences, lookups, clock } = options
  const tokens = new VerifiedTokens<Verified>(options.issuers, options.keys, (claims) => verified(claims, serverAudiences))
  return {
    authenticateToken(token, audiences) {
      const known = tokens.get(token)
      if (known === undefined) return undefined
      const isForServer = audiences === serverAudiences || audiences.length === 0
      const shared = isForServer ? (known.result.audiences ?? []) : sharedAudiences(known.audiences, audiences)
      if (shared.length === 0 && serverAudiences.length > 0) {
        throw new Unauthenticated(
          `token audiences ${list(known.audiences)} is invalid for the target audiences ${list(isForServer ? serverAudiences : audiences)}`,
        )
      }
      const nowMs = clock.now()
      mustBeTimely(known, nowMs)
      mustBeBound(known.claims, lookups, nowMs)
      const result = isForServer ? known.result : { ...known.result, audiences: shared }
      const { warnafter } = known.claims
      if (warnafter === undefined || nowMs <= warnafter * 1000) return result
      const seconds = Math.floor(nowMs / 1000) - warnafter
      const stale = `subject: ${known.subject}, seconds after warning threshold: ${seconds}`
      return { ...result, auditAnnotations: { 'authentication.k8s.io/stale-token': stale } }
    },
  }
}

function verified(claims: JwtClaims, serverAudiences: readonly string[]): Verified {
  const kubernetes = kubernetesClaims(claims)
  if (kubernetes === undefined) throw new Unauthenticated('service account token claims could not be validated')
  const audiences = audiencesOf(claims)
  const effective = audiences.length === 0 ? serverAudiences : audiences
  const subject = typeof claims['sub'] === 'string' ? claims['sub'] : ''
  const result: AuthResult = {
    user: userOf(kubernetes, typeof claims['jti'] === 'string' ? claims['jti'] : ''),
    audiences: sharedAudiences(effective, serverAudiences),
    ...defined({ auditAnnotations: audiences.length === 0 ? { 'authentication.k8s.io/legacy-token': subject } : undefined }),
  }
  return {
    subject,
    audiences: effective,
    notBeforeMs: seconds(claims['nbf']) ?? 0,
    issuedAtMs: seconds(claims['iat']) ?? 0,
    expiryMs: seconds(claims['exp']) ?? Number.POSITIVE_INFINITY,
    claims: kubernetes,
    result,
  }
}

function userOf({ namespace, serviceaccount, pod, node }: KubernetesClaims, jti: string): UserInfo {
  const extra: Record<string, string[]> = {}
  if (jti !== '') extra[credentialIdKey] = [`JTI=${jti}`]
  if (pod !== undefined && pod.name !== '' && pod.uid !== '') {
    extra['authentication.kubernetes.io/pod-name'] = [pod.name]
    extra['authentication.kubernetes.io/pod-uid'] = [pod.uid]
  }
  if (node !== undefined && node.name !== '') {
    extra['authentication.kubernetes.io/node-name'] = [node.name]
    if (node.uid !== '') extra['authentication.kubernetes.io/node-uid'] = [node.uid]
  }
  const name = serviceAccountUsername(namespace, serviceaccount.name)
  return { name, uid: serviceaccount.uid, groups: serviceAccountGroups(namespace), extra }
}

function mustBeTimely({ notBeforeMs, issuedAtMs, expiryMs }: Verified, nowMs: number): void {
  if (nowMs + leewayMs < notBeforeMs) throw new Unauthenticated('service account token is not valid yet')
  if (nowMs - leewayMs > expiryMs) throw new Unauthenticated('service account token has expired')
  if (nowMs + leewayMs < issuedAtMs) throw new Unauthenticated('service account token is issued in the future')
}

/** The service account must be the one the token was made for, and so must the pod, secret or node it is bound to. */
function mustBeBound({ namespace, serviceaccount, pod, secret, node }: KubernetesClaims, lookups: ClusterLookups, nowMs: number): void {
  const account = lookups.lookupServiceAccount(namespace, serviceaccount.name)
  if (account === undefined) throw new Unauthenticated(`serviceaccounts ${quoted(serviceaccount.name)} not found`)
  if (account.metadata.uid !== serviceaccount.uid) {
    throw new Unauthenticated(`service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`)
  }
  if (isGone(account, nowMs)) throw new Unauthenticated(`service account ${namespace}/${serviceaccount.name} has been deleted`)
  if (secret !== undefined) mustExist('secret', secret, lookups.lookupSecret(namespace, secret.name), nowMs)
  if (pod !== undefined) mustExist('pod', pod, lookups.lookupPod(namespace, pod.name), nowMs)
  // The node of a pod is only told; a token of a node is bound to it.
  else if (node !== undefined) mustExist('node', node, lookups.lookupNode(node.name), nowMs)
}

type Deletable = { readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string | null | undefined } }

function mustExist(kind: 'secret' | 'pod' | 'node', claim: ObjectClaim, found: Deletable | undefined, nowMs: number): void {
  if (found === undefined) throw new Unauthenticated('service account token has been invalidated')
  if (found.metadata.uid !== claim.uid) {
    throw new Unauthenticated(`${kind} UID (${found.metadata.uid}) does not match service account ${kind} ref claim (${claim.uid})`)
  }
  if (isGone(found, nowMs)) throw new Unauthenticated('service account token has been invalidated')
}

function isGone({ metadata: { deletionTimestamp } }: Deletable, nowMs: number): boolean {
  return deletionTimestamp !== undefined && deletionTimestamp !== null && Date.parse(deletionTimestamp) < nowMs - leewayMs
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' ? value * 1000 : undefined
}

const list = (texts: readonly string[]): string => `[${texts.map(quoted).join(' ')}]`
