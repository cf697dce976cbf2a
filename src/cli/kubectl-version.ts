/** The kubectl whose behaviour this is. */
export const kubectlVersion = 'v1.36.4'
