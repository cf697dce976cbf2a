/** Every built-in kind, in the order in which groups are preferred. */
import { admissionregistrationV1 } from '#api/admissionregistration/v1/admissionregistration.ts'
import { admissionregistrationV1alpha1 } from '#api/admissionregistration/v1alpha1/admissionregistration.ts'
import { admissionregistrationV1beta1 } from '#api/admissionregistration/v1beta1/admissionregistration.ts'
import { apiextensionsV1 } from '#api/apiextensions/v1/apiextensions.ts'
import { apiextensionsV1beta1 } from '#api/apiextensions/v1beta1/apiextensions.ts'
import { apiregistrationV1 } from '#api/apiregistration/v1/apiregistration.ts'
import { apiregistrationV1beta1 } from '#api/apiregistration/v1beta1/apiregistration.ts'
import { appsV1 } from '#api/apps/v1/apps.ts'
import { appsV1alpha1 } from '#api/apps/v1alpha1/apps.ts'
import { appsV1beta1 } from '#api/apps/v1beta1/apps.ts'
import { appsV1beta2 } from '#api/apps/v1beta2/apps.ts'
import { authenticationV1 } from '#api/authentication/v1/authentication.ts'
import { authenticationV1beta1 } from '#api/authentication/v1beta1/authentication.ts'
import { authorizationV1 } from '#api/authorization/v1/authorization.ts'
import { authorizationV1beta1 } from '#api/authorization/v1beta1/authorization.ts'
import { autoscalingV1 } from '#api/autoscaling/v1/autoscaling.ts'
import { autoscalingV2 } from '#api/autoscaling/v2/autoscaling.ts'
import { autoscalingV2beta1 } from '#api/autoscaling/v2beta1/autoscaling.ts'
import { autoscalingV2beta2 } from '#api/autoscaling/v2beta2/autoscaling.ts'
import { batchV1 } from '#api/batch/v1/batch.ts'
import { batchV1beta1 } from '#api/batch/v1beta1/batch.ts'
import { batchV2alpha1 } from '#api/batch/v2alpha1/batch.ts'
import { certificatesV1 } from '#api/certificates/v1/certificates.ts'
import { certificatesV1alpha1 } from '#api/certificates/v1alpha1/certificates.ts'
import { certificatesV1beta1 } from '#api/certificates/v1beta1/certificates.ts'
import { coordinationV1 } from '#api/coordination/v1/coordination.ts'
import { coordinationV1alpha2 } from '#api/coordination/v1alpha2/coordination.ts'
import { coordinationV1beta1 } from '#api/coordination/v1beta1/coordination.ts'
import { coreV1 } from '#api/core/v1/core.ts'
import { discoveryV1 } from '#api/discovery/v1/discovery.ts'
import { discoveryV1beta1 } from '#api/discovery/v1beta1/discovery.ts'
import { eventsV1 } from '#api/events/v1/events.ts'
import { eventsV1beta1 } from '#api/events/v1beta1/events.ts'
import { extensionsV1beta1 } from '#api/extensions/v1beta1/extensions.ts'
import { flowcontrolV1 } from '#api/flowcontrol/v1/flowcontrol.ts'
import { flowcontrolV1beta1 } from '#api/flowcontrol/v1beta1/flowcontrol.ts'
import { flowcontrolV1beta2 } from '#api/flowcontrol/v1beta2/flowcontrol.ts'
import { flowcontrolV1beta3 } from '#api/flowcontrol/v1beta3/flowcontrol.ts'
import { internalV1alpha1 } from '#api/internal/v1alpha1/internal.ts'
import { networkingV1 } from '#api/networking/v1/networking.ts'
import { networkingV1beta1 } from '#api/networking/v1beta1/networking.ts'
import { nodeV1 } from '#api/node/v1/node.ts'
import { nodeV1alpha1 } from '#api/node/v1alpha1/node.ts'
import { nodeV1beta1 } from '#api/node/v1beta1/node.ts'
import { policyV1 } from '#api/policy/v1/policy.ts'
import { policyV1beta1 } from '#api/policy/v1beta1/policy.ts'
import { rbacV1 } from '#api/rbac/v1/rbac.ts'
import { rbacV1alpha1 } from '#api/rbac/v1alpha1/rbac.ts'
import { rbacV1beta1 } from '#api/rbac/v1beta1/rbac.ts'
import { resourceV1 } from '#api/resource/v1/resource.ts'
import { resourceV1alpha3 } from '#api/resource/v1alpha3/resource.ts'
import { resourceV1beta1 } from '#api/resource/v1beta1/resource.ts'
import { resourceV1beta2 } from '#api/resource/v1beta2/resource.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { schedulingV1 } from '#api/scheduling/v1/scheduling.ts'
import { schedulingV1alpha1 } from '#api/scheduling/v1alpha1/scheduling.ts'
import { schedulingV1alpha2 } from '#api/scheduling/v1alpha2/scheduling.ts'
import { schedulingV1beta1 } from '#api/scheduling/v1beta1/scheduling.ts'
import { settingsV1alpha1 } from '#api/settings/v1alpha1/settings.ts'
import { storageV1 } from '#api/storage/v1/storage.ts'
import { storageV1alpha1 } from '#api/storage/v1alpha1/storage.ts'
import { storageV1beta1 } from '#api/storage/v1beta1/storage.ts'
import { storagemigrationV1beta1 } from '#api/storagemigration/v1beta1/storagemigration.ts'

export const builtInKinds: readonly ResourceDefinition[] = [
  ...coreV1,
  ...apiregistrationV1,
  ...appsV1,
  ...eventsV1,
  ...authenticationV1,
  ...authorizationV1,
  ...autoscalingV2,
  ...autoscalingV1,
  ...batchV1,
  ...certificatesV1,
  ...certificatesV1beta1,
  ...certificatesV1alpha1,
  ...networkingV1,
  ...networkingV1beta1,
  ...policyV1,
  ...rbacV1,
  ...storageV1,
  ...storageV1beta1,
  ...admissionregistrationV1,
  ...admissionregistrationV1beta1,
  ...admissionregistrationV1alpha1,
  ...apiextensionsV1,
  ...schedulingV1,
  ...schedulingV1alpha2,
  ...coordinationV1,
  ...coordinationV1beta1,
  ...coordinationV1alpha2,
  ...nodeV1,
  ...discoveryV1,
  ...resourceV1,
  ...resourceV1beta2,
  ...resourceV1beta1,
  ...resourceV1alpha3,
  ...flowcontrolV1,
  ...internalV1alpha1,
  ...storagemigrationV1beta1,
  // Served for old manifests only; those of versions that have newer kinds as well are with these, above.
  ...appsV1beta2,
  ...appsV1beta1,
  ...appsV1alpha1,
  ...eventsV1beta1,
  ...authenticationV1beta1,
  ...authorizationV1beta1,
  ...autoscalingV2beta2,
  ...autoscalingV2beta1,
  ...batchV1beta1,
  ...batchV2alpha1,
  ...extensionsV1beta1,
  ...policyV1beta1,
  ...rbacV1beta1,
  ...rbacV1alpha1,
  ...storageV1alpha1,
  ...apiregistrationV1beta1,
  ...apiextensionsV1beta1,
  ...schedulingV1beta1,
  ...schedulingV1alpha1,
  ...nodeV1beta1,
  ...nodeV1alpha1,
  ...discoveryV1beta1,
  ...flowcontrolV1beta3,
  ...flowcontrolV1beta2,
  ...flowcontrolV1beta1,
  ...settingsV1alpha1,
]
