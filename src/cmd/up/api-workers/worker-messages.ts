/** What the main thread of a cluster and the threads that serve its API beside it say to each other. */
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import type { ServiceAccountKeys } from '#apiserver/pki/key-directory.ts'
import type { CertificateAndKey } from '#apiserver/pki/server-keys.ts'
import type { LogRecord } from '#base/log.ts'
import type { ClusterAddresses } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { StoreMessage, StoreRequest } from '#store/thread/thread-store-protocol.ts'

/** An API server's keys, as they are now. */
export type KeysCopy = {
  authorities: { ca: string; 'front-proxy-ca': string }
  identities: {
    apiserver: CertificateAndKey
    'apiserver-kubelet-client': CertificateAndKey | undefined
    'front-proxy-client': CertificateAndKey | undefined
  }
  serviceAccountKeys: ServiceAccountKeys
}

export type WorkerStart = {
  options: UpOptions
  addresses: ClusterAddresses
  port: number
  /** Where the first API server answers what a worker cannot. */
  socketPath: string
  keys: KeysCopy
  logsDebug: boolean
}

export type ToWorker =
  | { start: WorkerStart }
  | { store: StoreMessage }
  | { keys: KeysCopy; changed: readonly string[] }
  /** Asks for the text of its metrics. */
  | { metrics: number }
  | { drain: true }

export type FromWorker =
  | { store: StoreRequest }
  | { ready: true }
  | { failed: string }
  | { drained: true }
  | { metrics: number; text: string }
  | { audit: V1Event }
  | { log: LogRecord }
