import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** Must not throw and must not wait. */
export type PodListener = { onPod(pod: V1Pod): void; onPodGone(pod: V1Pod): void }

/** Where the API's pods come from. */
export type PodSource = {
  /** Tells of the node's pods, those that are there first. */
  follow(node: string, listener: PodListener): Disposable
  get(namespace: string, name: string): V1Pod | undefined
  /** Resolves when the present pods are known; absent where they are from the first. */
  readonly ready?: Promise<void>
}

/** Where pods come from that the API did not make. A changed pod is another one: the old one goes, the new one comes. */
export type StaticPodSource = { follow(listener: PodListener): Disposable }

export const mirrorAnnotation = 'kubernetes.io/config.mirror'
export const hashAnnotation = 'kubernetes.io/config.hash'
export const sourceAnnotation = 'kubernetes.io/config.source'

/** The API's image of a static pod. */
export const isMirror = ({ metadata }: V1Pod): boolean => metadata.annotations?.[mirrorAnnotation] !== undefined
