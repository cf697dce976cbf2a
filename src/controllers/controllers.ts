import { deploymentController } from '#controllers/deployment/deployment-controller.ts'
import { replicaSetController } from '#controllers/replicaset/replicaset-controller.ts'
import { replicationController } from '#controllers/replication/replication-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

/** Every controller, in the order in which they start. */
export const controllers: readonly Controller[] = [replicationController, replicaSetController, deploymentController]
