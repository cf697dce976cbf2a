/**
 * What authenticators read from the cluster, straight from the watch cache: current, without a promise.
 * The objects are shared and frozen; only what is used here is named.
 */
export type ClusterLookups = {
  lookupServiceAccount(namespace: string, name: string): ServiceAccountLike | undefined
  lookupSecret(namespace: string, name: string): SecretLike | undefined
  lookupPod(namespace: string, name: string): PodLike | undefined
  lookupNode(name: string): NodeLike | undefined
}

type Meta = {
  readonly name: string
  readonly uid: string
  readonly deletionTimestamp?: string | null | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

export type ServiceAccountLike = {
  readonly metadata: Meta
  readonly secrets?: readonly { readonly name?: string | undefined }[] | undefined
}
/** `data` holds base64 text, as JSON has it. */
export type SecretLike = {
  readonly metadata: Meta
  readonly type?: string | undefined
  readonly data?: Readonly<Record<string, string>> | undefined
}
export type PodLike = { readonly metadata: Meta; readonly spec?: { readonly nodeName?: string | undefined } | undefined }
export type NodeLike = { readonly metadata: Meta }
