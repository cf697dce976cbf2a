import { keyOf } from '#client/informer/object-store.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { catalogFinalizer } from '#controllers/service-catalog/broker-controller.ts'
import type { OpenHttp } from '#controllers/service-catalog/brokers.ts'
import {
  ClusterServiceBroker,
  ClusterServiceClass,
  ClusterServicePlan,
  ServiceBinding,
  ServiceInstance,
} from '#controllers/service-catalog/definitions.ts'
import { deprovision, mitigateOrphan } from '#controllers/service-catalog/deprovision-instance.ts'
import { isProvisioned } from '#controllers/service-catalog/instance-status.ts'
import { provisionOrUpdate } from '#controllers/service-catalog/provision-instance.ts'

/** Has brokers make what users ask for, change it, and take it away again. */
export function instanceController(openHttp: OpenHttp): Controller {
  return defineController({
    name: 'service-catalog-instances',
    eventComponent: 'service-catalog-controller-manager',
    for: ServiceInstance,
    reads: [ClusterServiceBroker],
    // Those that asked for what was not on offer may now have it; and one may go once nobody is bound to it.
    watches: [
      on(ClusterServicePlan, (_plan, cache) => cache.list(ServiceInstance).filter(isWaiting).map(keyOf)),
      on(ClusterServiceClass, (_class, cache) => cache.list(ServiceInstance).filter(isWaiting).map(keyOf)),
      on(ServiceBinding, ({ metadata, spec }) => [`${metadata.namespace}/${spec.instanceRef.name}`]),
    ],
    reconcile: withFinalizer({
      for: ServiceInstance,
      name: catalogFinalizer,
      reconcile: (instance, context) => reconcile(instance, context, openHttp),
      cleanup: (instance, context) => deprovision(instance, context, openHttp),
    }),
  })
}

const isWaiting = (instance: ServiceInstance): boolean =>
  !isProvisioned(instance) || instance.status?.reconciledGeneration !== instance.metadata.generation

async function reconcile(instance: ServiceInstance, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const current = instance.status?.orphanMitigationInProgress ? await mitigateOrphan(instance, context, openHttp) : instance
  if (current !== undefined) await provisionOrUpdate(current, context, openHttp)
}
