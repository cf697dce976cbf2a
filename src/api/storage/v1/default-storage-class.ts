/** Marks of the class that claims get which name none. */
export const defaultStorageClassAnnotations: readonly string[] = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]
