variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "image" {
  description = "Image with its digest, as REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST."
  type        = string
}

variable "region" {
  description = "Region of Cloud Run."
  type        = string
  default     = "europe-west1"
}

variable "name" {
  description = "Of the service and of its account."
  type        = string
  default     = "ranklet"
}

variable "api_key_secret" {
  description = "Secret of Secret Manager that holds the API key."
  type        = string
  default     = "ranklet-api-key"
}

variable "public" {
  description = "Let anybody call; the API key is asked for all the same."
  type        = bool
  default     = false
}

variable "max_instances" {
  description = "Instances at most: a bound for the bill."
  type        = number
  default     = 10
}

variable "cpu" {
  description = "Processors of an instance."
  type        = string
  default     = "2"
}

variable "memory" {
  description = "Memory of an instance; the bundle is mapped, so what is used of it counts."
  type        = string
  default     = "2Gi"
}

variable "concurrency" {
  description = "Requests at once in an instance: twice the processors, where they do the work."
  type        = number
  default     = 4
}

variable "accelerator" {
  description = "Kind of GPU, as nvidia-l4; none where it is empty."
  type        = string
  default     = ""
}
