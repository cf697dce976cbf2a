/** What has to happen before a server that has begun to listen is whole: upstream's names and order, and which step of ours each waits for. */
import type { HealthCheck } from '#apiserver/health/health-checks.ts'

/**
 * - caches: everything in the store is known
 * - namespaces, objects: the cluster's own namespaces, and what else it needs, are there
 * - service: the service `kubernetes` and its endpoints are there
 * - identity: this server has its lease among the servers of the cluster
 */
export type BootStep = 'caches' | 'namespaces' | 'objects' | 'service' | 'identity'

type Parts = { hasFlowControl: boolean }

const steps: readonly BootStep[] = ['caches', 'namespaces', 'objects', 'service', 'identity']

const always = () => true
const withFlowControl = ({ hasFlowControl }: Parts) => hasFlowControl
const withoutFlowControl = ({ hasFlowControl }: Parts) => !hasFlowControl

const sequence: readonly (readonly [name: string, step: BootStep, isIn?: (parts: Parts) => boolean])[] = [
  ['poststarthook/start-apiserver-admission-initializer', 'caches'],
  ['poststarthook/generic-apiserver-start-informers', 'caches'],
  ['poststarthook/priority-and-fairness-config-consumer', 'caches', withFlowControl],
  ['poststarthook/priority-and-fairness-filter', 'caches', withFlowControl],
  ['poststarthook/max-in-flight-filter', 'caches', withoutFlowControl],
  ['poststarthook/storage-object-count-tracker-hook', 'caches', withFlowControl],
  ['poststarthook/start-apiextensions-informers', 'caches'],
  ['poststarthook/start-apiextensions-controllers', 'caches'],
  ['poststarthook/crd-informer-synced', 'caches'],
  ['poststarthook/start-system-namespaces-controller', 'namespaces'],
  ['poststarthook/start-cluster-authentication-info-controller', 'objects'],
  ['poststarthook/start-kube-apiserver-identity-lease-controller', 'identity'],
  ['poststarthook/start-legacy-token-tracking-controller', 'objects'],
  ['poststarthook/start-service-ip-repair-controllers', 'caches'],
  ['poststarthook/rbac/bootstrap-roles', 'objects'],
  ['poststarthook/scheduling/bootstrap-system-priority-classes', 'objects'],
  ['poststarthook/priority-and-fairness-config-producer', 'objects', withFlowControl],
  ['poststarthook/bootstrap-controller', 'service'],
  ['poststarthook/start-kubernetes-service-cidr-controller', 'objects'],
  ['poststarthook/aggregator-reload-proxy-client-cert', 'caches'],
  ['poststarthook/start-kube-aggregator-informers', 'caches'],
  ['poststarthook/apiservice-status-local-available-controller', 'objects'],
  ['poststarthook/apiservice-status-remote-available-controller', 'caches'],
  ['poststarthook/apiservice-registration-controller', 'caches'],
  ['poststarthook/apiservice-discovery-controller', 'caches'],
  ['poststarthook/kube-apiserver-autoregistration', 'objects'],
  ['autoregister-completion', 'objects'],
  ['poststarthook/apiservice-openapi-controller', 'caches'],
  ['poststarthook/apiservice-openapiv3-controller', 'caches'],
]

export class BootSequence {
  readonly #done = new Set<BootStep>()

  done(step: BootStep): void {
    this.#done.add(step)
  }

  /** Somebody else has seen to everything. */
  isDone(): void {
    for (const step of steps) this.#done.add(step)
  }

  has(step: BootStep): boolean {
    return this.#done.has(step)
  }

  checks(parts: Parts): HealthCheck[] {
    const isIn = ([, , condition = always]: (typeof sequence)[number]) => condition(parts)
    return sequence.filter(isIn).map(([name, step]) => ({ name, run: () => (this.#done.has(step) ? undefined : 'not finished') }))
  }
}
