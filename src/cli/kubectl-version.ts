/** The kubectl whose behaviour this is. */
export const kubectlVersion = 'v1.36.4'

/** The kustomize whose builds ours equal. */
export const kustomizeVersion = 'v5.8.1'
