import { nodeHttpClient } from '#base/http-client.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { bindingController } from '#controllers/service-catalog/binding-controller.ts'
import { brokerController } from '#controllers/service-catalog/broker-controller.ts'
import type { OpenHttp } from '#controllers/service-catalog/brokers.ts'
import { instanceController } from '#controllers/service-catalog/instance-controller.ts'

/** What makes the service catalog's objects work; its definitions are to be installed before. */
export function serviceCatalogControllers(openHttp: OpenHttp = nodeHttpClient): Controller[] {
  return [brokerController(openHttp), instanceController(openHttp), bindingController(openHttp)]
}
