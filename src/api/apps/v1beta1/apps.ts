import { controllerRevisionResource as controllerRevisionV1 } from '#api/apps/v1/controller-revision.ts'
import { deploymentResource } from '#api/apps/v1beta1/deployment.ts'
import { statefulSetResource } from '#api/apps/v1beta1/stateful-set.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const controllerRevisionResource = legacyVersion(controllerRevisionV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
})

export const appsV1beta1: readonly ResourceDefinition[] = [controllerRevisionResource, deploymentResource, statefulSetResource]
