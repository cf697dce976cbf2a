/** How a class was named before there was a field; also on volumes. */
export const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class'
export const storageClassAnnotationWarning = 'deprecated since v1.8; use "storageClassName" attribute instead'
