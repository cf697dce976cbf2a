import { Secret } from '#api/core/v1/kinds.gen.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { bind } from '#controllers/service-catalog/bind.ts'
import { catalogFinalizer } from '#controllers/service-catalog/broker-controller.ts'
import type { OpenHttp } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ClusterServiceClass, ServiceBinding, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { unbind } from '#controllers/service-catalog/unbind.ts'

/** Binds users to instances: what the broker says they need is put into a secret beside them. */
export function bindingController(openHttp: OpenHttp): Controller {
  return defineController({
    name: 'service-catalog-bindings',
    eventComponent: 'service-catalog-controller-manager',
    for: ServiceBinding,
    owns: [Secret],
    reads: [ClusterServiceBroker, ClusterServiceClass],
    watches: [
      on(ServiceInstance, ({ metadata }, cache) =>
        cache
          .list(ServiceBinding, metadata.namespace)
          .filter(({ spec }) => spec.instanceRef.name === metadata.name)
          .map(keyOf),
      ),
    ],
    reconcile: withFinalizer({
      for: ServiceBinding,
      name: catalogFinalizer,
      reconcile: (binding, context) => bind(binding, context, openHttp),
      cleanup: (binding, context) => unbind(binding, context, openHttp),
    }),
  })
}
