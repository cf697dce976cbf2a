import type { V1BoundObjectReference, V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import { Check, quoted } from '#api/meta/check.ts'
import { badRequest, conflict, invalid, notFound } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { ClusterLookups } from '#apiserver/authn/cluster-lookups.ts'
import type { ObjectClaim } from '#apiserver/authn/service-account/claims.ts'
import type { TokenSigner } from '#apiserver/authn/service-account/token-signer.ts'
import type { Clock } from '#base/clock.ts'

export type TokenRequestOptions = {
  signer: TokenSigner
  serverAudiences: readonly string[]
  clock: Clock
  lookups: TokenRequestLookups
  /** Zero: as long as asked for. */
  maxExpirationSeconds?: number
  /** Tokens of pods that do not know yet how to take a new one live longer than they say. */
  extendsExpiration?: boolean
}

/** Pods tell whose they are. */
export type TokenRequestLookups = Omit<ClusterLookups, 'lookupPod'> & {
  lookupPod(namespace: string, name: string): PodOfAccount | undefined
}

type PodOfAccount = {
  readonly metadata: { readonly uid: string }
  readonly spec?: { readonly nodeName?: string | undefined; readonly serviceAccountName?: string | undefined } | undefined
}

export type AnsweredTokenRequest = { request: V1TokenRequest; warnings: string[]; auditAnnotations: Record<string, string> }

const group = 'authentication.k8s.io'
const kind = 'TokenRequest'
/** What the admission plugin asks for, so that it can be told from what people ask for. */
const injectedExpirationSeconds = 3607
const extendedExpirationSeconds = 365 * 24 * 3600

type Bound = { pod?: ObjectClaim; node?: ObjectClaim; secret?: ObjectClaim }

/**
 * Answers `serviceaccounts/NAME/token`, in two steps around admission: `prepare` looks at what is asked and fills in what is not said,
 * `answer` makes the token. Both throw refusals.
 */
export class TokenRequests {
  readonly #options: TokenRequestOptions

  constructor(options: TokenRequestOptions) {
    this.#options = options
  }

  /** The request with its service account's name, namespace and uid; `validate` validates it as a kind. */
  prepare(
    asked: V1TokenRequest,
    namespace: string,
    name: string,
    validate: (request: V1TokenRequest, check: Check<V1TokenRequest>) => void,
  ): V1TokenRequest {
    const { metadata = {}, spec } = asked
    mustMatch('metadata.name', metadata.name, name, 'must match the service account name if specified', name)
    mustMatch('metadata.namespace', metadata.namespace, namespace, 'must match the service account namespace if specified', name)
    const account = this.#options.lookups.lookupServiceAccount(namespace, name)
    if (account === undefined) throw notFound({ group: '', resource: 'serviceaccounts' }, name)
    const { uid } = account.metadata
    if (metadata.uid && metadata.uid !== uid) {
      const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`
      throw conflict({ group, resource: kind }, name, why)
    }
    const audiences = spec.audiences?.length ? spec.audiences : [...this.#options.serverAudiences]
    const request: V1TokenRequest = {
      kind,
      apiVersion: `${group}/v1`,
      metadata: { ...metadata, name, namespace, uid, creationTimestamp: formatTime(this.#options.clock.now()) },
      spec: { ...spec, audiences, boundObjectRef: spec.boundObjectRef ?? null },
    }
    const check = new Check(request)
    validate(request, check)
    if (check.failed) throw invalid({ group, kind }, '', check.errors)
    return request
  }

  answer(request: V1TokenRequest): AnsweredTokenRequest {
    const { signer, clock, maxExpirationSeconds = 0, extendsExpiration = true, serverAudiences } = this.#options
    const { name = '', namespace = '', uid = '' } = request.metadata
    const warnings: string[] = []
    const { boundObjectRef } = request.spec
    const bound = boundObjectRef ? this.#bound(boundObjectRef, namespace, name) : {}
    let seconds = request.spec.expirationSeconds ?? 3600
    if (maxExpirationSeconds > 0 && seconds > maxExpirationSeconds) {
      warnings.push(`requested expiration of ${seconds} seconds shortened to ${maxExpirationSeconds} seconds`)
      seconds = maxExpirationSeconds
    }
    const audiences = request.spec.audiences ?? []
    const isExtended =
      extendsExpiration &&
      bound.pod !== undefined &&
      seconds === injectedExpirationSeconds &&
      audiences.every((audience) => serverAudiences.includes(audience))
    const nowMs = clock.now()
    const { token, id } = signer.sign({
      audiences,
      namespace,
      serviceAccount: { name, uid },
      ...bound,
      expirationSeconds: isExtended ? extendedExpirationSeconds : seconds,
      warnAfterSeconds: isExtended ? seconds : undefined,
    })
    return {
      request: {
        ...request,
        spec: { ...request.spec, expirationSeconds: seconds },
        status: { token, expirationTimestamp: formatTime(nowMs + seconds * 1000) },
      },
      warnings,
      auditAnnotations: { 'authentication.kubernetes.io/issued-credential-id': `JTI=${id}` },
    }
  }

  #bound(ref: V1BoundObjectReference, namespace: string, account: string): Bound {
    const { lookups } = this.#options
    const { name = '', kind: type = '', apiVersion = '' } = ref
    if (apiVersion.includes('/') || !['Pod', 'Node', 'Secret'].includes(type)) {
      const [refGroup, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
      throw badRequest(`cannot bind token to object of type ${refGroup}/${version}, Kind=${type}`)
    }
    switch (type) {
      case 'Pod': {
        const pod = found(lookups.lookupPod(namespace, name), 'pods', name)
        if (pod.spec?.serviceAccountName !== account) {
          throw badRequest(`cannot bind token for serviceaccount ${quoted(account)} to pod running with different serviceaccount name.`)
        }
        mustHaveUid(ref, pod.metadata.uid)
        const node = pod.spec.nodeName
        // A node that is not there any more is still told by name.
        const withNode = node ? { node: { name: node, uid: lookups.lookupNode(node)?.metadata.uid ?? '' } } : {}
        return { pod: { name, uid: pod.metadata.uid }, ...withNode }
      }
      case 'Node': {
        const node = found(lookups.lookupNode(name), 'nodes', name)
        mustHaveUid(ref, node.metadata.uid)
        return { node: { name, uid: node.metadata.uid } }
      }
      default: {
        const secret = found(lookups.lookupSecret(namespace, name), 'secrets', name)
        mustHaveUid(ref, secret.metadata.uid)
        return { secret: { name, uid: secret.metadata.uid } }
      }
    }
  }
}

function mustMatch(field: string, given: string | undefined, expected: string, message: string, name: string): void {
  if (!given || given === expected) return
  const check = new Check(given, field)
  check.invalid(message)
  throw invalid({ group, kind }, name, check.errors)
}

function found<T>(object: T | undefined, resource: string, name: string): T {
  if (object === undefined) throw notFound({ group: '', resource }, name)
  return object
}

function mustHaveUid({ uid, kind: type = '', name = '' }: V1BoundObjectReference, actual: string): void {
  if (!uid || uid === actual) return
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
  throw conflict({ group: '', resource: type }, name, why)
}
