import { ControllerRevision as ControllerRevisionV1 } from '#api/apps/v1/controller-revision.ts'
import { Deployment } from '#api/apps/v1beta1/deployment.ts'
import { StatefulSet } from '#api/apps/v1beta1/stateful-set.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const ControllerRevision = legacyVersion(ControllerRevisionV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
})

export const appsV1beta1: readonly ResourceDefinition[] = [ControllerRevision, Deployment, StatefulSet]
