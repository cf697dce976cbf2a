/** What classes name as their provisioner for volumes that are directories of nodes. */
export const localDriverName = 'local.typernetes.dev'
