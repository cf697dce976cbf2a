import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'

export const serviceNameLabel = 'kubernetes.io/service-name'

/** The service whose endpoints these are; empty where none is named. */
export const serviceNameOf = ({ metadata }: Pick<V1EndpointSlice, 'metadata'>): string => metadata?.labels?.[serviceNameLabel] ?? ''
