/** Flags without which a command does nothing. */
export const requiredFlags: Readonly<Record<string, readonly string[]>> = {
  'create clusterrolebinding': ['clusterrole'],
  'create cronjob': ['image', 'schedule'],
  'create deployment': ['image'],
  'create service externalname': ['external-name'],
  run: ['image'],
  autoscale: ['max'],
  scale: ['replicas'],
}
