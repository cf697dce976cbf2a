import type { JwtClaims } from '#apiserver/authn/service-account/jwt.ts'
import { serviceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type ObjectClaim = { readonly name: string; readonly uid: string }

/** What a token says under `kubernetes.io`. */
export type KubernetesClaims = {
  readonly namespace: string
  readonly serviceaccount: ObjectClaim
  readonly pod?: ObjectClaim
  readonly secret?: ObjectClaim
  /** The uid is empty where the pod's node was not there when the token was made. */
  readonly node?: ObjectClaim
  /** Seconds since the epoch: from then on the token is only tolerated. */
  readonly warnafter?: number
}

export type TokenContent = {
  readonly issuer: string
  readonly audiences: readonly string[]
  readonly id: string
  readonly namespace: string
  readonly serviceAccount: ObjectClaim
  readonly pod?: ObjectClaim | undefined
  readonly secret?: ObjectClaim | undefined
  readonly node?: ObjectClaim | undefined
  readonly nowMs: number
  readonly expirationSeconds: number
  readonly warnAfterSeconds?: number | undefined
}

export function tokenClaims(content: TokenContent): JwtClaims {
  const { pod, secret, node, namespace, serviceAccount } = content
  if (secret !== undefined && (pod !== undefined || node !== undefined))
    throw new Error('internal error, token can only be bound to one object type')
  const now = Math.floor(content.nowMs / 1000)
  return {
    iss: content.issuer,
    sub: serviceAccountUsername(namespace, serviceAccount.name),
    aud: content.audiences,
    iat: now,
    nbf: now,
    exp: now + content.expirationSeconds,
    jti: content.id,
    'kubernetes.io': {
      namespace,
      serviceaccount: reference(serviceAccount),
      ...defined({
        pod: pod && reference(pod),
        secret: secret && reference(secret),
        node: node && reference(node),
        warnafter: content.warnAfterSeconds ? now + content.warnAfterSeconds : undefined,
      }),
    },
  }
}

/** The claims of a token whose signature is good; undefined when they are not of this kind. */
export function kubernetesClaims(claims: JwtClaims): KubernetesClaims | undefined {
  const value = claims['kubernetes.io']
  if (!isObject(value)) return undefined
  const serviceaccount = objectClaim(value['serviceaccount'])
  if (serviceaccount === undefined || typeof value['namespace'] !== 'string') return undefined
  const [pod, secret, node] = [value['pod'], value['secret'], value['node']].map(objectClaim)
  const warnafter = value['warnafter']
  return {
    namespace: value['namespace'],
    serviceaccount,
    ...defined({ pod, secret, node, warnafter: typeof warnafter === 'number' ? warnafter : undefined }),
  }
}

/** `aud` may be one text or several. */
export function audiencesOf(claims: JwtClaims): string[] {
  const { aud } = claims
  if (typeof aud === 'string') return [aud]
  return Array.isArray(aud) ? aud.filter((audience): audience is string => typeof audience === 'string') : []
}

function reference({ name, uid }: ObjectClaim): Partial<ObjectClaim> {
  return { name, ...omitEmpty({ uid }) }
}

function objectClaim(value: unknown): ObjectClaim | undefined {
  if (!isObject(value)) return undefined
  const { name, uid } = value
  return { name: typeof name === 'string' ? name : '', uid: typeof uid === 'string' ? uid : '' }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
