/** What keeps snapshots, and what they are taken of, while they are needed; the names are upstream's. */
export const finalizers = {
  snapshot: 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
  content: 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
} as const

export const defaultClassAnnotation = 'snapshot.storage.kubernetes.io/is-default-class'
export const deletionSecretAnnotations = {
  name: 'snapshot.storage.kubernetes.io/deletion-secret-name',
  namespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
} as const
