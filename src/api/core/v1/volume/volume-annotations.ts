/** How those who bind, provision and schedule volumes tell each other where they are. */

/** On claims: both sides of the binding were written. */
export const bindCompleted = 'pv.kubernetes.io/bind-completed'
/** On claims and volumes: the binding is a controller's, and not a wish of whoever made the object. */
export const boundByController = 'pv.kubernetes.io/bound-by-controller'
/** On claims: where the first pod will run; the scheduler asks for a volume there. */
export const selectedNode = 'volume.kubernetes.io/selected-node'
/** On volumes: who made it. */
export const provisionedBy = 'pv.kubernetes.io/provisioned-by'
/** On claims and volumes of a class whose provisioner once was part of Kubernetes: who does its work today. */
export const migratedTo = 'pv.kubernetes.io/migrated-to'
/** On claims: who is to make a volume. */
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
export const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner'
/** On volumes: the size before the one that the file system has yet to follow. */
export const preResizeCapacity = 'volume.alpha.kubernetes.io/pre-resize-capacity'

/** Volumes with it are deleted by an external provisioner first. */
export const provisionerFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer'
/** Volumes with it are deleted by the binder first. */
export const binderFinalizer = 'kubernetes.io/pv-controller'

/** The provisioner of classes whose volumes are made by hand. */
export const noProvisioner = 'kubernetes.io/no-provisioner'
